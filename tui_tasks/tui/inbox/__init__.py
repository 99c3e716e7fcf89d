"""The inbox: what agents ask, the permissions they want, the tasks they have filed; answering by keys."""
