module enhance

go 1.26.0

require (
	github.com/ebitengine/purego v0.11.3
	golang.org/x/image v0.47.0 // indirect
)
