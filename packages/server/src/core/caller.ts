export interface Caller {
  readonly extId: string
  readonly name: string
  readonly type: 'LOCAL' | 'LDAP' | 'SAML' | 'SERVICE_ACCOUNT' | 'SYSTEM'
  readonly groups: readonly string[]
  readonly credential: 'basic' | 'apiKey' | 'certificate' | 'none'
  readonly credentialId?: string
  readonly address?: string
  readonly tenantId: string
  /** The password is accepted only to change it. */
  readonly mustChangePassword?: boolean
  /** The task that replaced the password: the caller can read nothing else. */
  readonly readsOnlyTask?: string
}

/** The identity of the system's own work: schedules, retention, drift checks. Source: platform.md 2. */
export const systemCaller = (tenantId: string): Caller => ({
  extId: '00000000-0000-0000-0000-000000000000',
  name: 'system',
  type: 'SYSTEM',
  groups: [],
  credential: 'none',
  tenantId,
})

export interface Ids {
  uuid(): string
  /** Uniform in [0, 1). */
  random(): number
  /** Cryptographically strong, never seeded. */
  secretBytes(length: number): Buffer
  /** An independent stream for one purpose: its values do not depend on other draws. */
  of(what: string): Ids
}
