/** Who is it, by an API key. Source: behaviour conventions 14; iam.md 1. */
import { createHash } from 'node:crypto'
import { Key } from '@hyperplane/contract/iam/key'
import { User } from '@hyperplane/contract/iam/user'
import { ApiError } from '../../../core/api-error.ts'
import { parseTime } from '../../../core/clock.ts'
import type { Caller } from '../../../core/context.ts'
import { callerFrom, type Desk, timeOf } from './desk.ts'

/** What of an API key is kept: enough to know it again, and no more. */
export const apiKeyDigest = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex')

/** @param header `<key>` or `<prefix> <key>`. @throws ApiError 401, 429 */
export async function callerByKey(
  { store, clock, known, signIns, directories, callerOf, note }: Desk,
  header: string,
  address: string,
): Promise<Caller> {
  signIns.admit(address)
  const text = header.trim().split(/\s+/).at(-1) as string
  const digest = known.digestOf('apiKey', text)
  let credential = known.get(digest)
  if (credential === undefined) {
    const key = await store.findOne(Key, { apiKeyDigest: apiKeyDigest(text) })
    const state = known.stateOf(key?.userExtId ?? '')
    const user = key === undefined ? undefined : await store.get(User, key.userExtId as string)
    // Read again after the state was taken: a revocation in between is seen by one or the other.
    const valid = key === undefined ? undefined : await store.get(Key, key.extId)
    const outside =
      user?.userType === 'LDAP' && valid?.status === 'VALID' ? await directories.groupsOf(user) : undefined
    const isOpen = user?.userType !== 'LDAP' || outside !== undefined
    if (valid?.status === 'VALID' && user?.status === 'ACTIVE' && isOpen) {
      credential = {
        caller: callerOf(user, { credential: 'apiKey', credentialId: valid.extId }, outside?.groups),
        ...(outside === undefined ? {} : { provider: { extId: user.idpId as string, until: outside.until } }),
        endsAt: valid.expiryTime === undefined ? Infinity : (parseTime(valid.expiryTime) as number),
        notedAt: timeOf(valid.lastUsedTime),
      }
      known.remember(digest, credential, state)
    }
  }
  if (credential === undefined || credential.endsAt <= clock.now()) {
    signIns.failFrom(address)
    throw new ApiError('AUTHENTICATION_REQUIRED')
  }
  const keyExtId = credential.caller.credentialId as string
  note(credential, (transaction, time) => transaction.observe(Key, keyExtId, { lastUsedTime: time }))
  return callerFrom(credential, address)
}
