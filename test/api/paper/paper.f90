! The program of section 4.4 of the Damaris paper, with the module's name added and its two "..." filled in.
! Runs as the only client of a detached server, which it starts. The build sets local variables to zero: the paper gives rank none.
! Before it: paper_test. After it: the plugin's my_result.txt.
program example
use damaris
integer :: ierr, rank, step
real, dimension(64,16,2) :: my_data
call df_initialize("my_config.xml", rank, ierr)
call started(ierr)
step = 7
do k = 1, 2
  do j = 1, 16
    do i = 1, 64
      my_data(i,j,k) = i + 100*j + 10000*k
    end do
  end do
end do
call df_write("my_variable", step, my_data, ierr)
call df_signal("my_event", step, ierr)
call started(ierr)
call df_finalize(ierr)
call started(ierr)

contains

subroutine started(code)
  integer, intent(in) :: code
  if (code /= 0) then
    print '(2a)', 'FAILED: ', df_last_error()
    stop 1
  end if
end subroutine
end program example
