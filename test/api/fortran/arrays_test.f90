! Every type, kind and rank, and sections of all sorts, arrive at the C interface as address, extents and strides, uncopied.
! Runs in one process; the recorder stands for libdamaris.
! Before it: module damaris. After it: ctest.
program arrays_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, real64
  use damaris
  use checks
  use every_rank
  implicit none
  character, target :: block(4096)

  answer%block = c_loc(block)
  call every_rank_int8()
  call every_rank_int16()
  call every_rank_int32()
  call every_rank_int64()
  call every_rank_real32()
  call every_rank_real64()
  call every_rank_letter()
  call every_rank_text()
  call sections()
  call compounds()
  call finish()

contains

  subroutine sections()
    real, target :: halo(-2:9, -2:7, 0:5)
    real, target, allocatable :: field(:, :)
    real, pointer :: view(:, :)

    halo = 0
    call df_write('x', 1, halo(1:6, 1:4, 1:3))
    call check_array('interior of a halo', c_loc(halo(1, 1, 1)), 9, [6, 4, 3], [4, 48, 480])
    call df_read('x', 1, halo(1:6, 1:4, 1:3))
    call check_array('interior of a halo, read', c_loc(halo(1, 1, 1)), 9, [6, 4, 3], [4, 48, 480])
    call df_write('x', 1, halo(:, :, 2))
    call check_array('one level', c_loc(halo(-2, -2, 2)), 9, [12, 10], [4, 48])
    call df_write('x', 1, halo(0, :, 2))
    call check_array('a row', c_loc(halo(0, -2, 2)), 9, [10], [48])
    call df_write('x', 1, halo(9:-2:-1, 1::3, 2))
    call check_array('backward and by steps', c_loc(halo(9, 1, 2)), 9, [12, 3], [-4, 144])
    call df_write('x', 1, halo(1:0, 1:4, 1))
    call check(recorded%ndims == 2 .and. all(recorded%extents(:2) == [0, 4]), 'an empty section has an extent of 0')
    call df_write('x', 1, halo(3, 3, 3))
    call check_array('one element', c_loc(halo(3, 3, 3)), 9, [1], [4])

    allocate (field(5, 7), source=0.)
    call df_write('x', 1, field)
    call check_array('allocatable', c_loc(field), 9, [5, 7], [4, 20])
    view => field(2:4, 1:7:2)
    call df_write('x', 1, view)
    call check_array('pointer to a section', c_loc(field(2, 1)), 9, [3, 4], [4, 40])
    call pass_on(field(2:4, 2:3), c_loc(field(2, 2)))
  end subroutine

  subroutine pass_on(dummy, address)
    real, intent(in) :: dummy(:, :)
    type(c_ptr), intent(in) :: address
    call df_write('x', 1, dummy)
    call check_array('assumed-shape dummy', address, 9, [3, 2], [4, 20])
  end subroutine

  subroutine compounds()
    type :: particle
      real(real64) :: position(3)
      integer(int32) :: tag, cell
    end type
    type(particle), target :: particles(4)
    integer :: ierr
    answer%layout%element = 12
    answer%layout%element_bytes = 32
    call df_write_compound('x', 1, particles)
    call check_array('compound', c_loc(particles), 12, [4], [32])
    call df_write_compound('x', 1, particles(2:4:2))
    call check_array('compound section', c_loc(particles(2)), 12, [2], [64])
    call df_read_compound('x', 1, particles(2:4:2))
    call check_array('compound section, read', c_loc(particles(2)), 12, [2], [64])
    call check(called() == 'read_typed x', 'df_read_compound')
    answer%layout%element_bytes = 40
    call df_read_compound('x', 1, particles, ierr)
    call check(ierr == df_e_type .and. index(df_last_error(), 'elements of 40 bytes') > 0, 'also when it is to be read')
    call df_write_compound('x', 1, particles, ierr)
    call check(ierr == df_e_type .and. index(df_last_error(), 'elements of 40 bytes, those of the array have 32') > 0, &
               'a derived type of another size is refused')
  end subroutine
end program
