/** Authentication by client certificate: checked at every request, the user is cached. Source: behaviour iam.md 5. */

import { User } from '@hyperplane/contract/iam/user'
import { ApiError } from '../../../core/api-error.ts'
import type { Caller } from '../../../core/caller.ts'
import type { ClientCertificate } from '../../../core/ports.ts'
import { DirectoryError } from '../../../drivers/directory.ts'
import { userOfCertificate } from '../certificates/sign-in.ts'
import type { Trusted } from '../certificates/trust.ts'
import { callerFrom, type Desk, millisecondsOf, type Outcome } from './desk.ts'

export async function callerByCertificate(desk: Desk, presented: ClientCertificate, address: string): Promise<Caller> {
  const { certificates, failures, note } = desk
  failures.admit(address)
  const outcome = await desk.cache.verified(async () => {
    for (;;) {
      const { generation } = certificates
      const trusted = await certificates.judge(presented)
      const outcome: Outcome = trusted === undefined ? 'refused' : await certified(desk, trusted, generation, address)
      // A provider that was removed during the check must not sign anybody in.
      if (generation === certificates.generation) return outcome
    }
  })
  // An outage of the directory is not counted as a failure of the client.
  if (outcome === 'refused') failures.count(address)
  if (typeof outcome === 'string') throw new ApiError('AUTHENTICATION_REQUIRED')
  const { extId } = outcome.caller
  note(outcome, (transaction, time) => transaction.observe(User, extId, { lastLoginTime: time }))
  return callerFrom(outcome, address)
}

async function certified(desk: Desk, trusted: Trusted, generation: number, address: string): Promise<Outcome> {
  const { store, audit, cache, directories, callerOf } = desk
  const { fingerprint } = trusted.certificate
  const digest = cache.digestOf('certificate', `${generation} ${fingerprint}`)
  const cached = cache.get(digest)
  if (cached !== undefined) return cached
  try {
    const found = await userOfCertificate(trusted, store, directories)
    if (found === undefined) return 'refused'
    const { user, membership } = found
    if (user.status !== 'ACTIVE') return 'refused'
    // A directory that does not know the name counts too: its answer let another account sign in.
    const directory = trusted.provider.dirSvcExtID
    return {
      digest,
      caller: callerOf(user, { credential: 'certificate', credentialId: fingerprint }, membership?.groups),
      providers: [
        ...(directory === undefined ? [] : [directory]),
        ...(membership === undefined ? [] : [user.idpId as string]),
      ],
      ...(membership === undefined ? {} : { groupsUntil: membership.until }),
      endsAt: Infinity,
      notedAt: millisecondsOf(user.lastLoginTime),
    }
  } catch (error) {
    if (!(error instanceof DirectoryError)) throw error
    await audit.writeAlone({
      credential: 'certificate',
      address,
      operation: 'iam.signIn',
      target: trusted.certificate.name,
      status: 401,
      decision: `directory of ${trusted.provider.name}: ${error.message}`,
    })
    return 'unavailable'
  }
}
