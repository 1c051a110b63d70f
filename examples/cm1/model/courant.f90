! The Courant number of every step, its maximum over all ranks: one late rank delays all here,
! as in the real model. A run that has become unstable ends with a message.
! Used by: every rank, once a step. Collective over the model's communicator.
! Before it: the state after a step. After it: the next step.
module cm1_courant
  use mpi
  use cm1_constants, only: stop_model
  use cm1_settings, only: dtl
  use cm1_grid
  use cm1_state, only: u, v, w
  implicit none
  private
  public :: check_courant

  real, parameter :: limit = 1.4, broken = 1.0e9

contains

  subroutine check_courant(step, worst)
    integer, intent(in) :: step
    real, intent(out) :: worst
    real :: mine
    integer :: ierr
    character(len=160) :: text
    mine = local_courant()
    call MPI_Allreduce(mine, worst, 1, MPI_REAL, MPI_MAX, comm, ierr)
    if (worst <= limit) return
    write (text, '(a,i0,a,es9.2,a)') 'unstable at step ', step, ': Courant number ', worst, &
      '; use a smaller dtl, or a coarser grid'
    call stop_model(text)
  end subroutine check_courant

  real function local_courant()
    integer :: i, j, k
    real :: c
    local_courant = 0.0
    do k = 1, nk
      do j = 1, nj
        do i = 1, ni
          c = dtl*((abs(u(i, j, k))*rdx + abs(v(i, j, k))*rdy) + abs(w(i, j, k))*rdz)
          if (.not. c < broken) c = broken  ! no maximum sees a NaN
          local_courant = max(local_courant, c)
        end do
      end do
    end do
  end function local_courant

end module cm1_courant
