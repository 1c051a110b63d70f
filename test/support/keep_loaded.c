/* Nothing is unloaded in a program with this: LeakSanitizer looks at the end, when OpenMPI has unloaded its plugins, and what they have
 * allocated could not be distinguished from ours any more. For the programs of test/mpi under a sanitizer.
 * Before it: OpenMPI's MPI_Finalize. After it: leaks.supp, which names the plugins.
 */
int dlclose(void* library) {
  (void)library;
  return 0;
}
