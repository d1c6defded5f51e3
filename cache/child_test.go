package cache

func child(string) {}
