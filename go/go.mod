module protosim

go 1.22
