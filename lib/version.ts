/** Version of both scripts, as in the CHANGELOG. */
export const VERSION = "1.0.0";
