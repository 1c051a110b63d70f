/* Starts in place with the configuration that it is given, and prints "started" or why not.
 * Used by: set_user_id_test, as a program of another user with set-user-id.
 */
#include <damaris/damaris.h>
#include <stdio.h>

int main(int count, char** words) {
  const int code = count == 2 ? dc_initialize(words[1], 0) : DC_E_ARGUMENT;
  puts(code == DC_OK ? "started" : dc_last_error());
  return 0;
}
