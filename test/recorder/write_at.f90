! Each rank writes its block by MPI_File_write_at of mpi_f08: write_at FILE
program write_at
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08
  implicit none
  integer, parameter :: points = 5000
  integer :: rank
  integer(MPI_OFFSET_KIND) :: offset
  integer(int64) :: block(points)
  character(len=200) :: name
  type(MPI_File) :: file
  type(MPI_Status) :: status

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, name)
  block = rank + 1
  call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file)
  offset = int(rank, MPI_OFFSET_KIND) * points * 8
  call MPI_File_write_at(file, offset, block, points, MPI_INTEGER8, status)
  call MPI_File_close(file)
  call MPI_Finalize()
end program write_at
