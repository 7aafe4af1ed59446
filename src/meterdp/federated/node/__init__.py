"""One node as a process of its own: it reads its own export and speaks with its neighbours over encrypted links."""
