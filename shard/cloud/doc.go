// Package cloud is the store of objects that a cloud serves over HTTP. A driver such as gs or azure
// defines a [Service]: the URLs of objects and lists, how requests are signed, and the meaning of
// its errors. Package web makes the requests, and package bucket lists.
//
// Open sends no request. A shard's version is the service's own of the object, which each read
// demands and each answer is compared with.
package cloud
