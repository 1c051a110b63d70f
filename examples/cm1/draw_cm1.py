"""Draws the storm: a vertical slice through its strongest updraft, and a map at mid height."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

NEEDED = {f"diagnostics/{name}" for name in ("uinterp", "vinterp", "winterp", "dbz")} | {
    "fields/qc", "fields/qr"}
CLOUD = 1.0e-4  # kg/kg of water in cloud and rain: about where the eye sees cloud
SHOWN_KM = 20.0  # half the width of the slice


def draw(fields, path, spacing_km, minutes, source):
    """fields: the arrays of NEEDED, (z, y, x); spacing_km: (dx, dz)."""
    dx, dz = spacing_km
    storm = centred({name.split("/")[1]: array for name, array in fields.items()})
    nz, ny, nx = storm["winterp"].shape
    z = (np.arange(nz) + 0.5) * dz
    y, x = (np.arange(ny) - ny // 2) * dx, (np.arange(nx) - nx // 2) * dx
    figure, (slice_axes, map_axes) = plt.subplots(1, 2, figsize=(13, 5.6), layout="constrained")
    draw_slice(figure, slice_axes, storm, x, z, ny // 2)
    draw_map(figure, map_axes, storm, x, y, z, int(round(4.0 / dz)))
    strongest = storm["winterp"].max()
    figure.suptitle(f"The storm after {minutes:.0f} min: updraft {strongest:.0f} m/s, wind relative to the box that moves with it "
                    f"(from {source})", fontsize=12)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def centred(storm):
    """The box is periodic: rolls it so that the strongest updraft stands in the middle."""
    _, ny, nx = storm["winterp"].shape
    _, j, i = np.unravel_index(storm["winterp"].argmax(), storm["winterp"].shape)
    return {name: np.roll(array, (ny // 2 - j, nx // 2 - i), (1, 2)) for name, array in storm.items()}


def frame(figure, axes, filled, label, ticks):
    """Both panels: square, with a colour bar as high as the panel."""
    axes.set_box_aspect(1)
    figure.colorbar(filled, cax=axes.inset_axes([1.03, 0, 0.05, 1]), label=label, ticks=ticks)


def draw_slice(figure, axes, storm, x, z, row):
    w = storm["winterp"][:, row]
    limit = np.ceil(np.abs(w).max() / 5.0) * 5.0
    levels = np.linspace(-limit, limit, 20)  # an even number, so that weak wind of either sign is white
    filled = axes.contourf(x, z, w, levels, cmap="RdBu_r")
    frame(figure, axes, filled, "vertical wind (m/s)", np.arange(-limit, limit + 1, 10))
    cloud = storm["qc"][:, row] + storm["qr"][:, row]
    axes.contour(x, z, cloud, [CLOUD], colors="black", linewidths=1.4)
    every = (slice(1, None, 3), slice(None, None, 2))
    arrows = axes.quiver(x[every[1]], z[every[0]], storm["uinterp"][:, row][every], w[every],
                         color="0.25", scale=600, width=0.0018)
    axes.quiverkey(arrows, 0.9, -0.09, 20, "20 m/s", labelpos="E")
    axes.set(title="Slice through the strongest updraft (line: edge of cloud and rain)",
             xlabel="x from the updraft (km)", ylabel="height (km)", ylim=(0, z[-1]))
    axes.set_xlim(max(x[0], -SHOWN_KM), min(x[-1], SHOWN_KM))
    axes.set_yticks(np.arange(0, z[-1], 5))


def draw_map(figure, axes, storm, x, y, z, level):
    filled = axes.contourf(x, y, np.minimum(storm["dbz"][level], 70), np.arange(10, 71, 5), cmap="viridis")
    frame(figure, axes, filled, "radar reflectivity (dBZ)", np.arange(10, 71, 10))
    axes.contour(x, y, storm["winterp"][level], [5, 10, 20], colors="crimson", linewidths=1.2)
    every = (slice(None, None, 3), slice(None, None, 3))
    arrows = axes.quiver(x[every[1]], y[every[0]], storm["uinterp"][level][every], storm["vinterp"][level][every],
                         color="0.4", scale=350, width=0.002)
    axes.quiverkey(arrows, 0.88, -0.09, 10, "10 m/s", labelpos="E")
    axes.axhline(0.0, color="black", linewidth=0.8, linestyle=":")
    axes.set(title=f"At {z[level]:.1f} km (red: updraft 5, 10, 20 m/s; dotted: the slice)",
             xlabel="x from the updraft (km)", ylabel="y from the updraft (km)")
    axes.set_xlim(max(x[0], -SHOWN_KM), min(x[-1], SHOWN_KM))
    axes.set_ylim(max(y[0], -SHOWN_KM), min(y[-1], SHOWN_KM))
