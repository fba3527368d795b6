import * as s from '../../schema.ts'

/** A placement that failed is not tried again before `notBefore`, unless its cause has changed. */
export const placementRetry = {
  failures: s.integer(),
  notBefore: s.timestamp(),
  /** Identifies the placement: what, where, by which policies. */
  cause: s.uuid(),
} as const
