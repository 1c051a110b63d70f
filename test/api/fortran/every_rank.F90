! Every type and kind through the array routines at each rank.
! Used by: arrays_test.F90, in one process; the recorder stands for libdamaris.
! Before it: arrays_test.F90. After it: module damaris, then the checks of every_rank.inc.
module every_rank
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use damaris
  use checks
  implicit none
  public

contains

#define ROUTINE(verb) verb/**/_int8
#define ELEMENTS integer(int8)
#define SPACE integer(int8)
#define CODE 1
#define BYTES 1
#define LEAD [integer ::]
#define TITLE 'int8'
#include "every_rank.inc"

#define ROUTINE(verb) verb/**/_int16
#define ELEMENTS integer(int16)
#define SPACE integer(int16)
#define CODE 2
#define BYTES 2
#define LEAD [integer ::]
#define TITLE 'int16'
#include "every_rank.inc"

#define ROUTINE(verb) verb/**/_int32
#define ELEMENTS integer(int32)
#define SPACE integer(int32)
#define CODE 3
#define BYTES 4
#define LEAD [integer ::]
#define TITLE 'int32'
#include "every_rank.inc"

#define ROUTINE(verb) verb/**/_int64
#define ELEMENTS integer(int64)
#define SPACE integer(int64)
#define CODE 4
#define BYTES 8
#define LEAD [integer ::]
#define TITLE 'int64'
#include "every_rank.inc"

#define ROUTINE(verb) verb/**/_real32
#define ELEMENTS real(real32)
#define SPACE real(real32)
#define CODE 9
#define BYTES 4
#define LEAD [integer ::]
#define TITLE 'real32'
#include "every_rank.inc"

#define ROUTINE(verb) verb/**/_real64
#define ELEMENTS real(real64)
#define SPACE real(real64)
#define CODE 10
#define BYTES 8
#define LEAD [integer ::]
#define TITLE 'real64'
#include "every_rank.inc"

#define ROUTINE(verb) verb/**/_letter
#define ELEMENTS character
#define SPACE character
#define CODE 11
#define BYTES 1
#define LEAD [integer ::]
#define TITLE 'letter'
#include "every_rank.inc"

#define ROUTINE(verb) verb/**/_text
#define ELEMENTS character(len=5)
#define SPACE character
#define CODE 11
#define BYTES 1
#define LEAD [5]
#define TITLE 'text'
#include "every_rank.inc"

end module
