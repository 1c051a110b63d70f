#!/usr/bin/env bash
# soname.sh PLUGIN FLAVOUR: is the plugin linked with the HDF5 and the MPI of that flavour, and with no other?
set -eu
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
printf '%s\n' "$needed"
grep -q "^libhdf5_$2\.so" <<<"$needed" || { echo "not linked with libhdf5_$2"; exit 1; }
! grep '^libhdf5' <<<"$needed" | grep -v "^libhdf5_$2" || { echo "linked with another HDF5 too"; exit 1; }
case $2 in
  openmpi) unwanted='^libmpich' ;;
  mpich) unwanted='^libmpi\.so' ;;
  serial) unwanted='^libmpi' ;;
esac
! grep -E "$unwanted" <<<"$needed" || { echo "linked with the MPI of another flavour"; exit 1; }
