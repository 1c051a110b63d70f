! Which tile of the domain each rank computes, so that the tiles of a node form one rectangle:
! a dedicated core can then join what its clients hand over into one contiguous block.
! Used by: every rank of the model's communicator, once. Collective over it.
! Before it: settings. After it: grid.
module cm1_placement
  use mpi
  use cm1_constants, only: stop_model
  use cm1_settings, only: nodex, nodey, ppnode, max_nodes
  implicit none
  private
  public :: place_ranks, tile_rank, my_tile_x, my_tile_y

  integer, allocatable :: tile_rank(:, :)  ! (0:nodex-1, 0:nodey-1): who computes the tile
  integer :: my_tile_x = 0, my_tile_y = 0

contains

  ! Orders the ranks by node and gives each its tile. `comm` becomes a communicator of the model's
  ! own: the one it came from may belong to a library that frees it.
  subroutine place_ranks(comm)
    integer, intent(inout) :: comm
    integer, allocatable :: node_sizes(:)
    integer :: ranks, me, ierr, r, block_x, ordered
    call MPI_Comm_size(comm, ranks, ierr)
    if (ppnode(1) > 0) then
      call declared_nodes(ranks, node_sizes)
      call MPI_Comm_dup(comm, ordered, ierr)
    else
      call found_nodes(comm, ranks, node_sizes, ordered)
    end if
    comm = ordered
    call MPI_Comm_rank(comm, me, ierr)
    call choose_tiling(ranks, me, node_sizes, block_x)
    allocate (tile_rank(0:nodex - 1, 0:nodey - 1))
    do r = 0, ranks - 1
      call assign_tile(r, node_sizes(1), block_x, me)
    end do
  end subroutine place_ranks

  subroutine assign_tile(r, node_size, block_x, me)
    integer, intent(in) :: r, node_size, block_x, me
    integer :: tx, ty, node, local, nodes_in_row
    if (block_x == 0) then
      tx = mod(r, nodex)
      ty = r/nodex
    else
      node = r/node_size
      local = mod(r, node_size)
      nodes_in_row = nodex/block_x
      tx = mod(node, nodes_in_row)*block_x + mod(local, block_x)
      ty = (node/nodes_in_row)*(node_size/block_x) + local/block_x
    end if
    tile_rank(tx, ty) = r
    if (r == me) then
      my_tile_x = tx
      my_tile_y = ty
    end if
  end subroutine assign_tile

  subroutine declared_nodes(ranks, node_sizes)
    integer, intent(in) :: ranks
    integer, allocatable, intent(out) :: node_sizes(:)
    integer :: sizes(max_nodes), placed, n, last
    placed = 0
    n = 0
    last = ppnode(1)
    do while (placed < ranks .and. n < max_nodes)
      n = n + 1
      if (ppnode(n) > 0) last = ppnode(n)
      sizes(n) = min(last, ranks - placed)
      placed = placed + sizes(n)
    end do
    allocate (node_sizes(n))
    node_sizes = sizes(1:n)
  end subroutine declared_nodes

  ! Ranks that share memory are a node; they are made neighbours in the communicator.
  subroutine found_nodes(comm, ranks, node_sizes, ordered)
    integer, intent(in) :: comm, ranks
    integer, allocatable, intent(out) :: node_sizes(:)
    integer, intent(out) :: ordered
    integer :: node_comm, me, leader, ierr, r, n
    integer :: leaders(0:ranks - 1), sizes(ranks)
    call MPI_Comm_rank(comm, me, ierr)
    call MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, node_comm, ierr)
    leader = me
    call MPI_Bcast(leader, 1, MPI_INTEGER, 0, node_comm, ierr)
    call MPI_Comm_free(node_comm, ierr)
    call MPI_Comm_split(comm, 0, leader, ordered, ierr)  ! ties keep their old order
    call MPI_Allgather(leader, 1, MPI_INTEGER, leaders, 1, MPI_INTEGER, ordered, ierr)
    n = 1
    sizes(1) = 1
    do r = 1, ranks - 1
      if (leaders(r) /= leaders(r - 1)) then
        n = n + 1
        sizes(n) = 0
      end if
      sizes(n) = sizes(n) + 1
    end do
    allocate (node_sizes(n))
    node_sizes = sizes(1:n)
  end subroutine found_nodes

  ! Keeps what the user set; else the most nearly square cut in which each node has a rectangle.
  subroutine choose_tiling(ranks, me, node_sizes, block_x)
    integer, intent(in) :: ranks, me, node_sizes(:)
    integer, intent(out) :: block_x
    integer :: try
    logical :: fits
    if (nodex > 0 .and. nodey <= 0) nodey = ranks/nodex
    if (nodey > 0 .and. nodex <= 0) nodex = ranks/nodey
    if (nodex > 0) then
      if (nodex*nodey /= ranks) call stop_model('nodex*nodey must be the number of computing ranks')
      call find_block(nodex, nodey, node_sizes, block_x, fits)
      if (.not. fits .and. me == 0) write (0, '(a)') 'cm1: note: with this nodex and nodey '// &
        'the tiles of a node form no rectangle, a server cannot join them'
      return
    end if
    do try = int(sqrt(real(ranks)) + 0.5), 1, -1
      if (mod(ranks, try) /= 0) cycle
      nodex = try
      nodey = ranks/try
      call find_block(nodex, nodey, node_sizes, block_x, fits)
      if (fits) return
    end do
  end subroutine choose_tiling

  ! Width in tiles of a node's rectangle; 0 stands for whole rows of tiles in rank order.
  subroutine find_block(tiles_x, tiles_y, node_sizes, block_x, fits)
    integer, intent(in) :: tiles_x, tiles_y, node_sizes(:)
    integer, intent(out) :: block_x
    logical, intent(out) :: fits
    integer :: s
    s = node_sizes(1)
    fits = .true.
    if (all(node_sizes == s)) then
      do block_x = min(s, tiles_x), 1, -1
        if (mod(s, block_x) /= 0 .or. mod(tiles_x, block_x) /= 0) cycle
        if (mod(tiles_y, s/block_x) == 0) return
      end do
    end if
    block_x = 0
    fits = all(mod(node_sizes, tiles_x) == 0)
  end subroutine find_block

end module cm1_placement
