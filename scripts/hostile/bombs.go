package main
var bombKinds []kind
