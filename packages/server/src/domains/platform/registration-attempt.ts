/**
 * A registration under way: holds the address, so that no other one begins, and the credentials, until trust is made.
 * Shown by no operation. Source: behaviour platform.md 4 (register).
 */
import { object, resource, secret, taskId, text } from '@hyperplane/contract'

export const RegistrationAttempt = resource(
  'internal.v1.platform.RegistrationAttempt',
  {
    address: text(),
    taskExtId: taskId(),
    /** For the remote side; gone as soon as that trusts this manager. */
    credentials: secret(object('', { username: text(), password: text() })),
    /** The API key that the remote manager is given; gone with them. */
    accountKey: secret(text()),
  },
  { unique: [{ fields: ['address'] }] },
)
