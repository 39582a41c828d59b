"""A real Kubernetes node with a real Argo, made of processes in a network namespace of its own."""
