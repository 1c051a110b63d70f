! Compiles when ELEMENTS is a type that a layout can have, and must not compile else.
! Used by: compile_fails, which compiles it with one and with the other.
program wrong_type
  use damaris
  implicit none
  ELEMENTS :: array(4)
  ELEMENTS, pointer :: block(:)
#ifdef BY_ALLOC
  call df_alloc('x', 1, block)
#else
  call df_write('x', 1, array)
#endif
end program
