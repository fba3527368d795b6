/** What sign-ins leave behind: locks, which end by time or by a reset and never by a restart. Source: behaviour conventions 14. */
import { resource, text, timestamp } from '@hyperplane/contract'

/** A pair of user name and source address that is refused for a while. Its id is a digest of both. */
export const SignInLock = resource(
  'internal.v1.iam.SignInLock',
  { name: text(), until: timestamp() },
  { indexed: ['name', 'until'] },
)

export const iamRecords = [SignInLock]
