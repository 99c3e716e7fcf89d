"""The inbox: agents' questions, the permissions they ask for, the tasks they have filed; all answered by keys."""
