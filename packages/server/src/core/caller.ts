/** Whom a request acts for, and the random ids that it draws. */

/** The identity that a request acts for. */
export interface Caller {
  readonly extId: string
  readonly name: string
  readonly type: 'LOCAL' | 'LDAP' | 'SAML' | 'SERVICE_ACCOUNT' | 'SYSTEM'
  /** Ids of the user groups that it belongs to. */
  readonly groups: readonly string[]
  readonly credential: 'basic' | 'apiKey' | 'certificate' | 'none'
  readonly credentialId?: string
  /** Source address of the request. */
  readonly address?: string
  readonly tenantId: string
  /** The password works only for changing it. */
  readonly mustChangePassword?: boolean
}

/** The system's own work: schedules, retention, drift checks. Source: platform.md 2. */
export const systemCaller = (tenantId: string): Caller => ({
  extId: '00000000-0000-0000-0000-000000000000',
  name: 'system',
  type: 'SYSTEM',
  groups: [],
  credential: 'none',
  tenantId,
})

/** Random things. Handed in, so that a seeded world is the same every time. */
export interface Ids {
  /** A UUID v4, lower case. */
  uuid(): string
  /** Uniform in [0, 1). */
  random(): number
  /** Cryptographically strong, never seeded. */
  secretBytes(length: number): Buffer
  /** Those for one thing: they do not depend on what is drawn beside it. */
  of(what: string): Ids
}
