module enhance

go 1.26
