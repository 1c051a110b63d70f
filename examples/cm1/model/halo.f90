! The halo exchange: x first, then y with the corners, for several fields in one message.
! Used by: every rank of the model, several times a step. Collective over the neighbours.
! Before it: the fields' interior. After it: stencils that reach into the neighbours' tiles.
module cm1_halo
  use mpi
  use cm1_grid
  implicit none
  private
  public :: field_ref, ref, exchange, fill_levels, fill_levels_w

  type field_ref
    real, pointer :: a(:, :, :)
  end type field_ref

  integer, parameter :: tag_down = 1, tag_up = 2
  real, allocatable, save :: send_down(:), send_up(:), recv_down(:), recv_up(:)

contains

  ! A handle on a whole field. The actual argument must be a target (or pointer).
  function ref(a)
    real, target, intent(in) :: a(ib:, jb:, kb:)
    type(field_ref) :: ref
    ref%a => a
  end function ref

  ! Fills the outer `width` points of each field in x and y, on every level.
  subroutine exchange(fields, width)
    type(field_ref), intent(in) :: fields(:)
    integer, intent(in) :: width
    call exchange_x(fields, width)
    call exchange_y(fields, width)
  end subroutine exchange

  subroutine exchange_x(fields, width)
    type(field_ref), intent(in) :: fields(:)
    integer, intent(in) :: width
    integer :: n
    n = size(fields)*width*nj*(ke - kb + 1)
    call reserve(n)
    call pack_box(fields, 1, width, 1, nj, send_down)
    call pack_box(fields, ni - width + 1, ni, 1, nj, send_up)
    call swap(n, west, east)
    call unpack_box(fields, 1 - width, 0, 1, nj, recv_down)
    call unpack_box(fields, ni + 1, ni + width, 1, nj, recv_up)
  end subroutine exchange_x

  subroutine exchange_y(fields, width)
    type(field_ref), intent(in) :: fields(:)
    integer, intent(in) :: width
    integer :: n, first, last
    first = 1 - width
    last = ni + width
    n = size(fields)*width*(last - first + 1)*(ke - kb + 1)
    call reserve(n)
    call pack_box(fields, first, last, 1, width, send_down)
    call pack_box(fields, first, last, nj - width + 1, nj, send_up)
    call swap(n, south, north)
    call unpack_box(fields, first, last, 1 - width, 0, recv_down)
    call unpack_box(fields, first, last, nj + 1, nj + width, recv_up)
  end subroutine exchange_y

  subroutine swap(n, down, up)
    integer, intent(in) :: n, down, up
    integer :: requests(4), ierr
    call MPI_Irecv(recv_up, n, MPI_REAL, up, tag_down, comm, requests(1), ierr)
    call MPI_Irecv(recv_down, n, MPI_REAL, down, tag_up, comm, requests(2), ierr)
    call MPI_Isend(send_down, n, MPI_REAL, down, tag_down, comm, requests(3), ierr)
    call MPI_Isend(send_up, n, MPI_REAL, up, tag_up, comm, requests(4), ierr)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
  end subroutine swap

  ! The buffers only grow, so that the steps do not allocate.
  subroutine reserve(n)
    integer, intent(in) :: n
    if (allocated(send_down)) then
      if (size(send_down) >= n) return
      deallocate (send_down, send_up, recv_down, recv_up)
    end if
    allocate (send_down(n), send_up(n), recv_down(n), recv_up(n))
  end subroutine reserve

  subroutine pack_box(fields, i1, i2, j1, j2, buffer)
    type(field_ref), intent(in) :: fields(:)
    integer, intent(in) :: i1, i2, j1, j2
    real, intent(out) :: buffer(:)
    integer :: f, j, k, at
    at = 0
    do f = 1, size(fields)
      do k = kb, ke
        do j = j1, j2
          buffer(at + 1:at + i2 - i1 + 1) = fields(f)%a(i1:i2, j, k)
          at = at + i2 - i1 + 1
        end do
      end do
    end do
  end subroutine pack_box

  subroutine unpack_box(fields, i1, i2, j1, j2, buffer)
    type(field_ref), intent(in) :: fields(:)
    integer, intent(in) :: i1, i2, j1, j2
    real, intent(in) :: buffer(:)
    integer :: f, j, k, at
    at = 0
    do f = 1, size(fields)
      do k = kb, ke
        do j = j1, j2
          fields(f)%a(i1:i2, j, k) = buffer(at + 1:at + i2 - i1 + 1)
          at = at + i2 - i1 + 1
        end do
      end do
    end do
  end subroutine unpack_box

  ! Halo in z of a field at scalar levels: no gradient through ground and lid.
  subroutine fill_levels(a)
    real, intent(inout) :: a(ib:ie, jb:je, kb:ke)
    a(:, :, 0) = a(:, :, 1)
    a(:, :, nk + 1) = a(:, :, nk)
  end subroutine fill_levels

  ! Halo in z of w: nothing flows through ground and lid, the flow beyond is mirrored.
  subroutine fill_levels_w(a)
    real, intent(inout) :: a(ib:ie, jb:je, kb:ke)
    a(:, :, 1) = 0.0
    a(:, :, nk + 1) = 0.0
    a(:, :, 0) = -a(:, :, 2)
    a(:, :, nk + 2) = -a(:, :, nk)
  end subroutine fill_levels_w

end module cm1_halo
