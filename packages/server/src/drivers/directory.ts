/**
 * What the control plane asks of an LDAP server: is this the password, who is that, which groups, what is there.
 * Nothing is written. Implemented by `simulated/` and `ldap/`; `directory-tries.ts` goes through the servers of a directory.
 * Source: behaviour iam.md 4.
 */
export interface Directory {
  /**
   * Proves that the password belongs to the name: a distinguished name, or whatever the server takes as one.
   * An empty password is refused before anything is sent: servers take it for an anonymous bind and say yes.
   */
  bind(server: DirectoryServer, account: DirectoryAccount): Promise<void>
  /** The one account of this name (without its domain); undefined when there is none, or more than one. */
  findUser(server: DirectoryServer, name: string): Promise<DirectoryUser | undefined>
  /**
   * Distinguished names of the groups that the user is a member of; `recursive`: of the groups of these groups as well,
   * 20 levels up at most, each group once.
   */
  groupsOf(server: DirectoryServer, user: DirectoryUser, recursive: boolean): Promise<readonly string[]>
  hasGroup(server: DirectoryServer, distinguishedName: string): Promise<boolean>
  /** Users and groups one of whose attributes is, or with `isWildcard` contains, the text. Nothing in the text is special. */
  search(server: DirectoryServer, query: DirectoryQuery): Promise<DirectoryFindings>
}

/** Each call takes one of these and keeps nothing of it. @throws DirectoryError, every call */
export interface DirectoryServer {
  /** `ldap://host:389`, `ldaps://host:636`; the next one is tried when one does not answer. */
  readonly urls: readonly string[]
  readonly type: 'ACTIVE_DIRECTORY' | 'OPEN_LDAP'
  readonly domainName: string
  /** As whom users and groups are searched. */
  readonly account: DirectoryAccount
  /** Where what stands; an Active Directory is laid out by its maker. */
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
  /** Attribute of a member that stands there; `dn`: its distinguished name. */
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
  /** What stands in a group for this user. */
  readonly memberValue: string
}

export interface DirectoryQuery {
  readonly text: string
  readonly isWildcard: boolean
  readonly searchedAttributes: readonly string[]
  readonly returnedAttributes: readonly string[]
  /** At most so many are answered. */
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

/** `credentials`: it answered, and said no. `busy`: it was not asked, too many others are. All else: it is of no use now. */
export type DirectoryFault = 'address' | 'busy' | 'credentials' | 'dns' | 'protocol' | 'refused' | 'timeout' | 'tls'

/** The message is the cause, for administrators; it holds no secret. */
export class DirectoryError extends Error {
  override readonly name = 'DirectoryError'
  readonly fault: DirectoryFault

  constructor(fault: DirectoryFault, cause: string, options?: ErrorOptions) {
    super(cause, options)
    this.fault = fault
  }
}

/** One server is given this long for one call, from the name's resolution to the last answer. */
export const tryMilliseconds = 5000
/** Levels of groups in groups. */
export const maximumLevels = 20

/**
 * Never asked for, never compared with, never answered: whoever may search must not learn what opens accounts. The first
 * five are those of the behaviour page; the others hold the same elsewhere (Samba, local administrators, service accounts).
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

/** The attribute by which people of this directory are called. */
export const accountAttribute = ({ type, layout }: Pick<DirectoryServer, 'type' | 'layout'>): string =>
  type === 'ACTIVE_DIRECTORY' ? 'sAMAccountName' : (layout?.usernameAttribute ?? 'uid')

/** `example.com` is kept below `dc=example,dc=com`. */
export const baseOf = (domainName: string): string =>
  domainName
    .split('.')
    .map((label) => `dc=${label}`)
    .join(',')
