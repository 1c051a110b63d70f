! The physical constants of the model, with CM1's values, and the way it stops.
! Used by: every process of the mini-app.
! Before it: nothing. After it: every other module.
module cm1_constants
  use mpi
  implicit none
  public

  real, parameter :: grav = 9.81          ! m/s2
  real, parameter :: rd = 287.04          ! J/kg/K, dry air
  real, parameter :: cp = 1005.7          ! J/kg/K, dry air
  real, parameter :: cv = cp - rd         ! J/kg/K
  real, parameter :: latent = 2.501e6     ! J/kg, evaporation of water
  real, parameter :: p00 = 1.0e5          ! Pa, where the Exner function is 1
  real, parameter :: vapour_lift = 0.608  ! virtual temperature per kg/kg of vapour

contains

  ! Ends the whole run with a message. An example may do so; the library never does.
  subroutine stop_model(message)
    use iso_c_binding, only: c_int
    character(*), intent(in) :: message
    integer :: ierr
    interface
      integer(c_int) function wait_seconds(seconds) bind(c, name='sleep')
        import c_int
        integer(c_int), value :: seconds
      end function wait_seconds
    end interface
    write (0, '(2a)') 'cm1: error: ', trim(message)
    flush (0)
    ierr = wait_seconds(1)  ! MPICH's launcher may lose what is said just before an abort
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine stop_model

end module cm1_constants
