! A block has the size that its step gives it, also where the call that hands it out lets a parameter take effect.
! Runs in one process on the real library, in place.
! Before it: module damaris. After it: ctest.
program alloc_sizes
  use damaris
  implicit none
  real, pointer :: field(:, :)
  integer :: failed = 0

  call df_initialize('alloc_sizes.xml', 0)
  call df_alloc('field', 0, field)
  call expect([4, 3])
  call df_set_parameter('n', 1000)
  call df_alloc_block('field', 0, 1, field)
  call expect([4, 3])
  call df_alloc('field', 1, field)
  call expect([1000, 3])
  field = 1.0
  call df_commit('field', 1)
  call df_set_parameter('n', 2)
  call df_alloc('off', 2, field)
  call expect([2, 3])
  if (failed > 0) error stop 1

contains

  subroutine expect(extents)
    integer, intent(in) :: extents(2)
    if (all(shape(field) == extents)) return
    failed = failed + 1
    print '(a, 2(1x, i0), a, 2(1x, i0))', 'FAILED: the block has', shape(field), ', not', extents
  end subroutine
end program
