import { names } from '@hyperplane/contract/names'
/** An LDAP server, read only; `directory-tries.ts` adds secondary servers. Source: behaviour iam.md 4. */
export interface Directory {
  /** Verifies the password. An empty one is refused before it is sent: servers would accept it as an anonymous bind. */
  bind(server: DirectoryServer, account: DirectoryAccount): Promise<void>
  /** By account name without domain; undefined when there is none or more than one. */
  findUser(server: DirectoryServer, name: string): Promise<DirectoryUser | undefined>
  /** Distinguished names, each once; `recursive`: with the groups of these groups, at most 20 levels up. */
  groupsOf(server: DirectoryServer, user: DirectoryUser, recursive: boolean): Promise<readonly string[]>
  hasGroup(server: DirectoryServer, distinguishedName: string): Promise<boolean>
  /** Users and groups with an attribute that equals (`isWildcard`: contains) the text, taken literally. */
  search(server: DirectoryServer, query: DirectoryQuery): Promise<DirectoryFindings>
}

/** Passed to each call and not kept. @throws DirectoryError, every call */
export interface DirectoryServer {
  /** `ldap://host:389`, `ldaps://host:636`, in the order of attempts. */
  readonly urls: readonly string[]
  readonly type: 'ACTIVE_DIRECTORY' | 'OPEN_LDAP'
  readonly domainName: string
  readonly account: DirectoryAccount
  /** Absent for an Active Directory, whose layout is fixed. */
  readonly layout?: OpenLdapLayout
}

export interface DirectoryAccount {
  readonly username: string
  readonly password: string
}

export interface OpenLdapLayout {
  readonly userObjectClass: string
  readonly userSearchBase: string
  readonly usernameAttribute: string
  readonly groupObjectClass: string
  readonly groupSearchBase: string
  /** Attribute of a group that names its members. */
  readonly groupMemberAttribute: string
  /** Attribute of a member that the group lists; `dn`: its distinguished name. */
  readonly groupMemberAttributeValue: string
}

export interface DirectoryUser {
  readonly distinguishedName: string
  readonly name: string
  readonly displayName?: string
  readonly emailId?: string
  readonly isDisabled: boolean
  /** Groups that the entry itself names (Active Directory). */
  readonly memberOf: readonly string[]
  /** The value that lists this user in a group. */
  readonly memberValue: string
}

export interface DirectoryQuery {
  readonly text: string
  readonly isWildcard: boolean
  readonly searchedAttributes: readonly string[]
  readonly returnedAttributes: readonly string[]
  readonly limit: number
}

export interface DirectoryFindings {
  readonly entries: readonly DirectoryEntry[]
  readonly isTruncated: boolean
}

export interface DirectoryEntry {
  readonly entityType: 'user' | 'group'
  readonly distinguishedName: string
  readonly attributes: readonly { readonly name: string; readonly values: readonly string[] }[]
}

/** `credentials`: refused by the server. `busy`: not sent, too many calls are pending. Others: unusable server. */
export const directoryFaults = names('address, busy, credentials, dns, protocol, refused, timeout, tls')
export type DirectoryFault = (typeof directoryFaults)[number]

/** The message is for administrators and contains no secret. */
export class DirectoryError extends Error {
  override readonly name = 'DirectoryError'
  readonly fault: DirectoryFault

  constructor(fault: DirectoryFault, cause: string, options?: ErrorOptions) {
    super(cause, options)
    this.fault = fault
  }
}

/** For one call to one server, from name resolution to the last answer. */
export const tryMilliseconds = 5000
export const maximumLevels = 20

/** Never requested, compared or returned: a search must not disclose credentials. Five of the behaviour page, and equivalents elsewhere. */
export const secretAttributes: ReadonlySet<string> = new Set(
  [
    'userPassword',
    'unicodePwd',
    'ntPwdHistory',
    'lmPwdHistory',
    'krbPrincipalKey',
    'dBCSPwd',
    'supplementalCredentials',
    'sambaNTPassword',
    'sambaLMPassword',
    'ms-Mcs-AdmPwd',
    'msLAPS-Password',
    'msDS-ManagedPassword',
  ].map((name) => name.toLowerCase()),
)

export const accountAttribute = ({ type, layout }: Pick<DirectoryServer, 'type' | 'layout'>): string =>
  type === 'ACTIVE_DIRECTORY' ? 'sAMAccountName' : (layout?.usernameAttribute ?? 'uid')

export const baseOf = (domainName: string): string =>
  domainName
    .split('.')
    .map((label) => `dc=${label}`)
    .join(',')
