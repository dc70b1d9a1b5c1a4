// SPDX-License-Identifier: MIT
/** Static files with the module beside them, and no server; else the page of a posencd. Set when
 * the page is built. */
declare const SITE: boolean;
/** Of package.json. */
declare const VERSION: string;
/** models.json as it is: without `?all` the build takes those of the first script alone. */
declare module "*models.json?all" {
    const all: typeof import("./models.json");
    export default all;
}
