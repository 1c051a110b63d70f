! The tile of this rank: its extents, its place in the domain, its neighbours, its coordinates.
! Used by: every rank of the model; fixed after set_grid.
! Before it: placement. After it: state, halo and everything that loops over points.
module cm1_grid
  use mpi
  use cm1_constants, only: stop_model
  use cm1_settings
  use cm1_placement, only: tile_rank, my_tile_x, my_tile_y
  implicit none
  public
  private :: cut

  integer, parameter :: halo_xy = 3, halo_z = 1
  integer :: comm = MPI_COMM_NULL        ! the model's one communicator
  integer :: ranks = 1, me = 0
  integer :: ni, nj, nk                  ! interior points of the tile
  integer :: i0, j0                      ! global index of the point before the first one
  ! Bounds of every 3D array. One level more than the halo, so that w (nk+1 levels) and the
  ! scalars (nk) have the same shape and scratch arrays serve both.
  integer :: ib, ie, jb, je, kb, ke
  integer :: west, east, south, north    ! ranks; the sides are periodic
  logical :: last_x, last_y              ! whether the tile ends the domain in x, in y
  real :: rdx, rdy, rdz                  ! 1/m

contains

  subroutine set_grid(model_comm)
    integer, intent(in) :: model_comm
    integer :: ierr
    comm = model_comm
    call MPI_Comm_size(comm, ranks, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    call cut(nx, nodex, my_tile_x, i0, ni)
    call cut(ny, nodey, my_tile_y, j0, nj)
    nk = nz
    if (ni < halo_xy .or. nj < halo_xy) call stop_model('a tile is narrower than the halo of 3: '// &
      'use fewer ranks or a larger nx, ny')
    ib = 1 - halo_xy; ie = ni + halo_xy
    jb = 1 - halo_xy; je = nj + halo_xy
    kb = 1 - halo_z; ke = nk + halo_z + 1
    west = tile_rank(modulo(my_tile_x - 1, nodex), my_tile_y)
    east = tile_rank(modulo(my_tile_x + 1, nodex), my_tile_y)
    south = tile_rank(my_tile_x, modulo(my_tile_y - 1, nodey))
    north = tile_rank(my_tile_x, modulo(my_tile_y + 1, nodey))
    last_x = my_tile_x == nodex - 1
    last_y = my_tile_y == nodey - 1
    rdx = 1.0/dx; rdy = 1.0/dy; rdz = 1.0/dz
  end subroutine set_grid

  ! Tile `index` of `parts`; tiles differ by one point where the division leaves a rest.
  subroutine cut(points, parts, index, first, extent)
    integer, intent(in) :: points, parts, index
    integer, intent(out) :: first, extent
    first = (points*index)/parts
    extent = (points*(index + 1))/parts - first
  end subroutine cut

  ! Distance of a scalar point from the middle of the domain, m. Exactly odd about it.
  real function x_from_centre(i)
    integer, intent(in) :: i
    x_from_centre = real(2*(i0 + i) - 1 - nx)*(0.5*dx)
  end function x_from_centre

  real function y_from_centre(j)
    integer, intent(in) :: j
    y_from_centre = real(2*(j0 + j) - 1 - ny)*(0.5*dy)
  end function y_from_centre

  ! Heights of scalar points and of w points, m.
  real function z_scalar(k)
    integer, intent(in) :: k
    z_scalar = (real(k) - 0.5)*dz
  end function z_scalar

  real function z_face(k)
    integer, intent(in) :: k
    z_face = real(k - 1)*dz
  end function z_face

end module cm1_grid
