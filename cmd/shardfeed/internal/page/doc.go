// Package page shows the engines of this user as a page with history, which one process serves to
// browsers.
//
// A Page looks at the engines all the time, so a browser that comes later gets their history.
// It sends all that it keeps, then each look, by server-sent events. All files are embedded, and
// they fetch nothing from other servers. What is sent needs the token of the page's address: other
// users of the machine reach the port too.
package page
