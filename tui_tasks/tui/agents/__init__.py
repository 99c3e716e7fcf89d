"""What is said of an agent, answered to it and done to it, the same in the inbox and in Agents."""
