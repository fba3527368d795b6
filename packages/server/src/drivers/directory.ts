/**
 * An LDAP server: checks passwords, finds users and their groups, searches. Nothing is written. Implemented by
 * `simulated/` and `ldap/`; `directory-tries.ts` tries the servers of a directory in turn.
 * Source: behaviour iam.md 4.
 */
export interface Directory {
  /**
   * Proves that the password belongs to the name: a distinguished name, or whatever the server takes as one. An empty
   * password is refused before anything is sent: servers would accept it as an anonymous bind.
   */
  bind(server: DirectoryServer, account: DirectoryAccount): Promise<void>
  /** The account with this name (without its domain); undefined when there is none or more than one. */
  findUser(server: DirectoryServer, name: string): Promise<DirectoryUser | undefined>
  /**
   * Distinguished names of the groups that the user is a member of; `recursive`: of the groups of these groups as well,
   * 20 levels up at most, each group once.
   */
  groupsOf(server: DirectoryServer, user: DirectoryUser, recursive: boolean): Promise<readonly string[]>
  hasGroup(server: DirectoryServer, distinguishedName: string): Promise<boolean>
  /**
   * Users and groups with an attribute that equals, or with `isWildcard` contains, the text. The text is taken
   * literally.
   */
  search(server: DirectoryServer, query: DirectoryQuery): Promise<DirectoryFindings>
}

/** Parameter of each call; nothing of it is kept. @throws DirectoryError, every call */
export interface DirectoryServer {
  /** `ldap://host:389`, `ldaps://host:636`; the next one is tried when one does not answer. */
  readonly urls: readonly string[]
  readonly type: 'ACTIVE_DIRECTORY' | 'OPEN_LDAP'
  readonly domainName: string
  /** The account that searches users and groups. */
  readonly account: DirectoryAccount
  /** Search bases and attributes; absent for an Active Directory, whose layout is fixed. */
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
  /** Account name as the directory spells it. */
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
  /** Largest number of entries in the answer. */
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

/**
 * `credentials`: the server refused them. `busy`: not called, because too many calls are pending. All others: the
 * server cannot be used now.
 */
export type DirectoryFault = 'address' | 'busy' | 'credentials' | 'dns' | 'protocol' | 'refused' | 'timeout' | 'tls'

/** The message is the cause, for administrators; it contains no secret. */
export class DirectoryError extends Error {
  override readonly name = 'DirectoryError'
  readonly fault: DirectoryFault

  constructor(fault: DirectoryFault, cause: string, options?: ErrorOptions) {
    super(cause, options)
    this.fault = fault
  }
}

/** Time limit for one call to one server, from name resolution to the last answer. */
export const tryMilliseconds = 5000
/** Largest depth of nested groups. */
export const maximumLevels = 20

/**
 * Never requested, compared or answered: a search must not disclose credentials. The first five are those of the
 * behaviour page; the others are their equivalents elsewhere (Samba, local administrators, service accounts).
 */
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

/** The attribute that holds account names in this directory. */
export const accountAttribute = ({ type, layout }: Pick<DirectoryServer, 'type' | 'layout'>): string =>
  type === 'ACTIVE_DIRECTORY' ? 'sAMAccountName' : (layout?.usernameAttribute ?? 'uid')

/** Base of a domain: `dc=example,dc=com` for `example.com`. */
export const baseOf = (domainName: string): string =>
  domainName
    .split('.')
    .map((label) => `dc=${label}`)
    .join(',')
