package main
var faultKinds []kind
