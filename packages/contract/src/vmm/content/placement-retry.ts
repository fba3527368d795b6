import * as s from '../../schema.ts'

/** A placement that failed is not tried again before `notBefore`, unless its cause has changed. */
export const placementRetry = {
  failures: s.integer(),
  notBefore: s.timestamp(),
  /** Identifies what was to be placed where, by which policies. */
  cause: s.uuid(),
} as const
