/* vfork. Its child runs in its parent's memory and stack frame, so no function of C can be its wrapper.
   Used by: the program, any thread; posix_spawn and system do not come here.
   Before it: the program called vfork. After it: special.cpp keeps the child out of its parent's chunk. */
#if defined(__x86_64__)
  .text
  .globl vfork
  .type vfork, @function
vfork:
  .cfi_startproc
  popq %rdi              /* the return address: the child would overwrite it */
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rdi
  movl $58, %eax
  syscall
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rip, 0
  pushq %rax
  .cfi_adjust_cfa_offset 8
  testq %rax, %rax
  jz 1f
  js 2f
  call damaris_after_vfork
  popq %rax
  .cfi_adjust_cfa_offset -8
  ret
1:
  .cfi_adjust_cfa_offset 8
  call damaris_in_vfork_child
  popq %rax
  .cfi_adjust_cfa_offset -8
  ret
2:
  .cfi_adjust_cfa_offset 8
  movq %rax, %rdi
  call damaris_failed_vfork
  popq %rcx
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size vfork, .-vfork
#endif
  .section .note.GNU-stack, "", @progbits
