! Particles bounce in a box, and each bounce is an event in a log. Steps have nothing to do with it.
! Run two of them: ./append_f append.xml 0 & ./append_f append.xml 1; wait
program append
  use damaris
  use iso_c_binding
  implicit none
  type, bind(c) :: event    ! 16 bytes, as they are in the file
    integer(c_int32_t) :: particle, wall
    real(c_double) :: time
  end type
  integer, parameter :: particles = 100, steps = 200
  real(c_double) :: place(particles), speed(particles)
  type(event) :: bounce
  type(df_position_t) :: where
  character(256) :: config, argument
  integer :: id, step, i, bounces

  if (command_argument_count() /= 2) then
    print '(a)', 'usage: append_f CONFIG ID   (each process of a run has another ID: 0, 1, ...)'
    stop 2
  end if
  call get_command_argument(1, config)
  call get_command_argument(2, argument)
  read (argument, *) id
  call df_initialize(config, id)
  do i = 1, particles
    place(i) = (i - 0.5d0)/particles
    speed(i) = 0.01d0 + 0.0001d0*(i - 1)
  end do

  bounces = 0
  do step = 0, steps - 1
    do i = 1, particles
      place(i) = place(i) + speed(i)
      if (place(i) >= 0 .and. place(i) <= 1) cycle
      bounce = event(i - 1, merge(1, 0, place(i) > 1), step)
      speed(i) = -speed(i)
      call df_append_compound('events', bounce, where)
      if (bounces == 0) print '(a, i0, a, i0)', 'the first bounce is at byte ', where%offset, ' of file ', where%file
      bounces = bounces + 1
    end do
  end do
  call df_log_commit('events', 30000)   ! from here on they survive the end of the machine
  print '(i0, a)', bounces, ' bounces'
  call df_finalize()
end program
