! Arrays of every type, texts, sections, scalars, a compound type and a block in shared memory, to the files of an in-place run.
! Runs in one process on the real library.
! Before it: module damaris. After it: check_all_types.py reads what arrived.
program all_types
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use, intrinsic :: iso_c_binding
  use damaris
  implicit none

  type, bind(c) :: cell
    real(c_double) :: centre(2)
    integer(c_int) :: level
  end type

  integer :: i, j
  integer, parameter :: numbers(2, 3) = reshape([(i, i=1, 6)], [2, 3])
  real(real32) :: halo(0:3, 0:4, 2)
  real(real64), pointer :: block(:, :) => null()
  character(4) :: words(3) = ['one ', 'two ', 'four']
  type(cell) :: cells(3)
  type(df_handle) :: handle

  call df_initialize('all_types.xml', 5)
  call df_write('i8', 0, int(numbers, int8))
  call df_write('i16', 0, int(numbers, int16))
  call df_write('i32', 0, numbers)
  call df_write('i64', 0, int(numbers, int64) + 5000000000_int64)
  call df_write('r32', 0, real(numbers, real32)/4)
  call df_write('r64', 0, real(numbers, real64)/3)
  call df_write('words', 0, words)
  call df_write('scalar', 0, 2.5_real64)

  halo = -1
  forall (i=1:2, j=1:3) halo(i, j, :) = numbers(i, j)
  call df_variable('interior', handle)
  call df_write_to(handle, 0, halo(1:2, 1:3, :))
  call df_write_block('blocks', 0, 1, numbers(2:1:-1, :))

  cells = [(cell([real(i, real64), 0.5_real64], 10*i), i=1, 3)]
  call df_write_compound('cells', 0, cells(1:3:2))

  call df_alloc('block', 0, block)
  forall (i=1:2, j=1:3) block(i, j) = 10*i + j
  call df_commit('block', 0)
  call df_end_iteration(0)
  call df_finalize()
end program
