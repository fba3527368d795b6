/** Creation time of the roles, operations and entities that this release defines. */
export const releaseTime = '2026-01-15T00:00:00.000000Z'
