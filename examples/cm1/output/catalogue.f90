! The list of output variables: name, group, unit, place on the staggered grid, and the array that
! holds each. Used by: every rank, at every output, through output_list.
! Before it: state, diagnostics. After it: the back ends.
!
! The first ones are the model's own arrays, which a middleware may take without a copy of the
! model's; the others pass through one scratch array that the next variable overwrites.
module cm1_catalogue
  use cm1_state
  use cm1_diagnostics, only: diagnose
  implicit none
  private
  public :: variable, variables, variable_count, array_of

  type variable
    character(len=12) :: name
    character(len=12) :: group
    character(len=8) :: unit
    character(len=44) :: description
    integer :: more(3)  ! points more than the tile has: 1 at the far face
  end type variable

  integer, parameter :: variable_count = 23, at_point(3) = (/0, 0, 0/), at_w(3) = (/0, 0, 1/)
  character(len=12), parameter :: f = 'fields', d = 'diagnostics'

  type(variable), parameter :: variables(variable_count) = (/ &
    variable('u           ', f, 'm/s     ', 'wind in x, on west faces                    ', (/1, 0, 0/)), &
    variable('v           ', f, 'm/s     ', 'wind in y, on south faces                   ', (/0, 1, 0/)), &
    variable('w           ', f, 'm/s     ', 'wind in z, on lower faces                   ', at_w), &
    variable('thpert      ', f, 'K       ', 'perturbation potential temperature          ', at_point), &
    variable('pipert      ', f, '1       ', 'perturbation Exner function                 ', at_point), &
    variable('qv          ', f, 'kg/kg   ', 'water vapour mixing ratio                   ', at_point), &
    variable('qc          ', f, 'kg/kg   ', 'cloud water mixing ratio                    ', at_point), &
    variable('qr          ', f, 'kg/kg   ', 'rain water mixing ratio                     ', at_point), &
    variable('tracer      ', f, '1       ', 'air that was near the ground                ', at_point), &
    variable('th          ', d, 'K       ', 'potential temperature                       ', at_point), &
    variable('prs         ', d, 'Pa      ', 'pressure                                    ', at_point), &
    variable('prspert     ', d, 'Pa      ', 'perturbation pressure                       ', at_point), &
    variable('temp        ', d, 'K       ', 'temperature                                 ', at_point), &
    variable('rho         ', d, 'kg/m3   ', 'density of the air                          ', at_point), &
    variable('rh          ', d, '1       ', 'relative humidity over water                ', at_point), &
    variable('dbz         ', d, 'dBZ     ', 'radar reflectivity of the rain              ', at_point), &
    variable('buoyancy    ', d, 'm/s2    ', 'buoyancy                                    ', at_point), &
    variable('uinterp     ', d, 'm/s     ', 'wind in x at scalar points                  ', at_point), &
    variable('vinterp     ', d, 'm/s     ', 'wind in y at scalar points                  ', at_point), &
    variable('winterp     ', d, 'm/s     ', 'wind in z at scalar points                  ', at_point), &
    variable('zvort       ', d, '1/s     ', 'vertical vorticity at scalar points         ', at_point), &
    variable('nm          ', d, '1/s2    ', 'squared Brunt-Vaisala frequency, at w points', at_w), &
    variable('tke         ', d, 'm2/s2   ', 'subgrid kinetic energy, at w points         ', at_w)/)

contains

  ! The whole array, halo included, of variable n. Valid until the next call.
  function array_of(n) result(a)
    integer, intent(in) :: n
    real, pointer :: a(:, :, :)
    select case (variables(n)%name)
    case ('u'); a => u
    case ('v'); a => v
    case ('w'); a => w
    case ('thpert'); a => th
    case ('pipert'); a => pi
    case ('qv'); a => qv
    case ('qc'); a => qc
    case ('qr'); a => qr
    case ('tracer'); a => tr
    case default
      call diagnose(variables(n)%name, scratch)
      a => scratch
    end select
  end function array_of

end module cm1_catalogue
