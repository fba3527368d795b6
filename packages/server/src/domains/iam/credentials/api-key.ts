/** Authentication by API key. Source: behaviour conventions 14; iam.md 1. */

import { Key } from '@hyperplane/contract/iam/key'
import { User } from '@hyperplane/contract/iam/user'
import { ApiError } from '../../../core/api-error.ts'
import type { Caller } from '../../../core/caller.ts'
import { parseTime } from '../../../core/time/clock.ts'
import { apiKeyDigest } from '../../accounts/api-key-digest.ts'
import type { KnownCredential } from '../credential-cache.ts'
import { callerFrom, type Desk, millisecondsOf } from './desk.ts'

/** undefined: `callerByKey` decides. */
export function callerByKnownKey(desk: Desk, header: string, address: string): Caller | undefined {
  const { cache, clock, failures } = desk
  const credential = failures.admits(address) ? cache.get(cache.digestOf('apiKey', keyIn(header))) : undefined
  return credential !== undefined && credential.endsAt > clock.now() ? accept(desk, credential, address) : undefined
}

/** @param header `<key>` or `<prefix> <key>`. @throws ApiError 401, 429 */
export async function callerByKey(desk: Desk, header: string, address: string): Promise<Caller> {
  const { store, clock, cache, failures, directories, callerOf } = desk
  failures.admit(address)
  const text = keyIn(header)
  const digest = cache.digestOf('apiKey', text)
  const credential = cache.get(digest) ?? (await cache.verified(verify))
  if (credential === undefined || credential.endsAt <= clock.now()) {
    failures.count(address)
    throw new ApiError('AUTHENTICATION_REQUIRED')
  }
  return accept(desk, credential, address)

  async function verify(): Promise<KnownCredential | undefined> {
    const key = await store.findOne(Key, { apiKeyDigest: apiKeyDigest(text) })
    const user = key === undefined ? undefined : await store.get(User, key.userExtId as string)
    if (key?.status !== 'VALID' || user?.status !== 'ACTIVE') return undefined
    const outside = user.userType === 'LDAP' ? await directories.groupsOf(user) : undefined
    if (user.userType === 'LDAP' && outside === undefined) return undefined
    return {
      digest,
      caller: callerOf(user, { credential: 'apiKey', credentialId: key.extId }, outside?.groups),
      ...(outside === undefined ? {} : { providers: [user.idpId as string], groupsUntil: outside.until }),
      endsAt: key.expiryTime === undefined ? Infinity : (parseTime(key.expiryTime) as number),
      notedAt: millisecondsOf(key.lastUsedTime),
    }
  }
}

const keyIn = (header: string): string => header.trim().split(/\s+/).at(-1) as string

function accept({ note }: Desk, credential: KnownCredential, address: string): Caller {
  const keyExtId = credential.caller.credentialId as string
  note(credential, (transaction, time) => transaction.observe(Key, keyExtId, { lastUsedTime: time }))
  return callerFrom(credential, address)
}
