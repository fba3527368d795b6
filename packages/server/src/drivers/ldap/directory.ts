/** Directories over LDAP. Filters are built as objects, never as text: no injection. Source: behaviour iam.md 4. */

import type { Client, Entry, Filter } from 'ldapts'
import type { AddressGuard } from '../../core/access/address-guard.ts'
import { defined } from '../../core/defined.ts'
import {
  accountAttribute,
  baseOf,
  type Directory,
  type DirectoryEntry,
  DirectoryError,
  type DirectoryServer,
  type DirectoryUser,
  maximumLevels,
  secretAttributes,
} from '../directory.ts'
import { ldapts, withConnection } from './connection.ts'
import { invalidDistinguishedName } from './faults.ts'

/** Per user; a directory that exceeds it is not trusted. */
const maximumGroups = 5000
const namesAtOnce = 50
const pageSize = 500
const noSuchObject = 32
const noAttributes = ['1.1']

export function createLdapDirectory(guard: AddressGuard): Directory {
  const conversation = async <T>(
    server: DirectoryServer,
    work: (client: Client, filters: Filters) => Promise<T>,
    account = server.account,
  ): Promise<T> => {
    if (account.password === '') throw new DirectoryError('credentials', 'invalid credentials: the password is empty')
    const library = await ldapts()
    return withConnection(server.urls[0] as string, guard, async (client) => {
      await client.bind(account.username, account.password)
      return work(client, filtersOf(library))
    })
  }

  return {
    bind: (server, account) => conversation(server, async () => undefined, account),

    findUser: (server, name) =>
      conversation(server, async (client, filters) => {
        const attributes = [...userAttributes, accountAttribute(server), ...memberValueAttributes(server)]
        const found = await firstOf(client, placesOf(server).users, filters.userCalled(server, name), attributes, 2)
        const [entry] = found
        return entry !== undefined && found.length === 1 && isCalled(server, name, entry)
          ? userOf(server, name, entry)
          : undefined
      }),

    groupsOf: (server, user, recursive) =>
      conversation(server, async (client, filters) => {
        const found = new Map<string, string>()
        const add = (names: readonly string[]): string[] => {
          const added = names.filter((name) => !found.has(name.toLowerCase()))
          for (const name of added) found.set(name.toLowerCase(), name)
          if (found.size > maximumGroups)
            throw new DirectoryError('protocol', `the user is in more than ${maximumGroups} groups`)
          return added
        }
        const isNamedByEntry = server.type === 'ACTIVE_DIRECTORY'
        let level = add(isNamedByEntry ? user.memberOf : await groupsWith(client, filters, server, [user.memberValue]))
        for (let depth = 1; recursive && level.length > 0 && depth < maximumLevels; depth++) {
          level = add(await groupsWith(client, filters, server, level))
        }
        return [...found.values()]
      }),

    hasGroup: (server, distinguishedName) =>
      conversation(server, async (client, filters) => {
        try {
          const options = { scope: 'base', filter: filters.isGroup(server), attributes: noAttributes } as const
          return (await client.search(distinguishedName, options)).searchEntries.length > 0
        } catch (error) {
          // Undefined attribute type (RFC 4511): nobody can have a name with attributes that the server does not know.
          const { code } = error as { code?: unknown }
          if (code === noSuchObject || code === invalidDistinguishedName) return false
          throw error
        }
      }),

    search: (server, query) =>
      conversation(server, async (client, filters) => {
        const { users, groups } = placesOf(server)
        const requested = query.returnedAttributes.filter((name) => !secretAttributes.has(name.toLowerCase()))
        const filter = filters.matching(server, query)
        const found = new Map<string, DirectoryEntry>()
        for (const base of new Set([users, groups])) {
          for (const entry of await firstOf(client, base, filter, [...requested, 'objectClass'], query.limit + 1))
            found.set(entry.dn, entryOf(server, entry, requested))
        }
        const entries = [...found.values()]
        return { entries: entries.slice(0, query.limit), isTruncated: entries.length > query.limit }
      }),
  }
}

const userAttributes = ['displayName', 'cn', 'mail', 'memberOf', 'userAccountControl', 'userPrincipalName']
const accountDisabled = 2
const distinguishedNames = new Set(['dn', 'distinguishedname', 'entrydn'])

const groupClassOf = (server: DirectoryServer): string => server.layout?.groupObjectClass ?? 'group'
const memberAttributeOf = (server: DirectoryServer): string => server.layout?.groupMemberAttribute ?? 'member'
const placesOf = ({ layout, domainName }: DirectoryServer): { readonly users: string; readonly groups: string } => ({
  users: layout?.userSearchBase ?? baseOf(domainName),
  groups: layout?.groupSearchBase ?? baseOf(domainName),
})
const memberValueAttributes = ({ layout }: DirectoryServer): readonly string[] =>
  layout === undefined || distinguishedNames.has(layout.groupMemberAttributeValue.toLowerCase())
    ? []
    : [layout.groupMemberAttributeValue]

type Filters = ReturnType<typeof filtersOf>

function filtersOf({
  AndFilter,
  EqualityFilter,
  NotFilter,
  OrFilter,
  SubstringFilter,
}: Awaited<ReturnType<typeof ldapts>>) {
  const is = (attribute: string, value: string): Filter => new EqualityFilter({ attribute, value })
  const contains = (attribute: string, value: string): Filter => new SubstringFilter({ attribute, any: [value] })
  const all = (filters: readonly Filter[]): Filter => new AndFilter({ filters: [...filters] })
  const any = (filters: readonly Filter[]): Filter => new OrFilter({ filters: [...filters] })
  const isGroup = (server: DirectoryServer): Filter => is('objectClass', groupClassOf(server))
  // Active Directory lists computers as users too.
  const isUser = ({ layout }: DirectoryServer): Filter =>
    layout === undefined
      ? all([is('objectClass', 'user'), new NotFilter({ filter: is('objectClass', 'computer') })])
      : is('objectClass', layout.userObjectClass)
  return {
    isGroup,
    userCalled: (server: DirectoryServer, name: string): Filter => {
      const account = is(accountAttribute(server), name)
      const principal = is('userPrincipalName', `${name}@${server.domainName}`)
      return all([isUser(server), server.layout === undefined ? any([account, principal]) : account])
    },
    groupsWith: (server: DirectoryServer, members: readonly string[]): Filter =>
      all([isGroup(server), any(members.map((member) => is(memberAttributeOf(server), member)))]),
    matching: (
      server: DirectoryServer,
      query: { text: string; isWildcard: boolean; searchedAttributes: readonly string[] },
    ) =>
      all([
        any([isUser(server), isGroup(server)]),
        any(
          query.searchedAttributes
            .filter((name) => !secretAttributes.has(name.toLowerCase()))
            .map((name) => (query.isWildcard ? contains : is)(name, query.text)),
        ),
      ]),
  }
}

/** Does not follow referrals: the addresses of those servers were not checked. */
async function firstOf(
  client: Client,
  base: string,
  filter: Filter,
  attributes: readonly string[],
  limit: number,
): Promise<Entry[]> {
  const entries: Entry[] = []
  const paged = { pageSize: Math.min(limit, pageSize) }
  try {
    const pages = client.searchPaginated(base, { scope: 'sub', filter, attributes: [...attributes], paged })
    for await (const page of pages) {
      entries.push(...page.searchEntries)
      if (entries.length >= limit) break
    }
  } catch (error) {
    if ((error as { code?: unknown }).code !== noSuchObject) throw error
  }
  return entries.slice(0, limit)
}

async function groupsWith(
  client: Client,
  filters: Filters,
  server: DirectoryServer,
  members: readonly string[],
): Promise<string[]> {
  const found: string[] = []
  for (let from = 0; from < members.length; from += namesAtOnce) {
    const filter = filters.groupsWith(server, members.slice(from, from + namesAtOnce))
    const entries = await firstOf(client, placesOf(server).groups, filter, noAttributes, maximumGroups + 1)
    found.push(...entries.map(({ dn }) => dn))
  }
  return found
}

/** Attribute names are case-insensitive; binary values are returned in base64. */
function valuesOf(entry: Entry, attribute: string): string[] {
  const name = Object.keys(entry).find((key) => key !== 'dn' && key.toLowerCase() === attribute.toLowerCase())
  const value = name === undefined ? undefined : entry[name]
  const values = Array.isArray(value) ? value : value === undefined ? [] : [value]
  return values.map((each) => (Buffer.isBuffer(each) ? each.toString('base64') : String(each)))
}

/** Exact spelling only: failed sign-ins are counted by name, and directories ignore outer blanks and letter width. */
function isCalled(server: DirectoryServer, name: string, entry: Entry): boolean {
  const plainName = plain(name)
  return (
    valuesOf(entry, accountAttribute(server)).some((value) => plain(value) === plainName) ||
    valuesOf(entry, 'userPrincipalName').some((value) => plain(value) === plain(`${name}@${server.domainName}`))
  )
}

const plain = (name: string): string => name.normalize('NFC').toLowerCase()

function userOf(server: DirectoryServer, requestedName: string, entry: Entry): DirectoryUser {
  const first = (attribute: string): string | undefined => valuesOf(entry, attribute)[0]
  const [valueAttribute] = memberValueAttributes(server)
  const control = Number(first('userAccountControl') ?? 0)
  return defined({
    distinguishedName: entry.dn,
    name: first(accountAttribute(server)) ?? requestedName,
    displayName: first('displayName') ?? first('cn'),
    emailId: first('mail'),
    isDisabled: server.type === 'ACTIVE_DIRECTORY' && (control & accountDisabled) !== 0,
    memberOf: valuesOf(entry, 'memberOf'),
    memberValue: valueAttribute === undefined ? entry.dn : (first(valueAttribute) ?? entry.dn),
  })
}

function entryOf(server: DirectoryServer, entry: Entry, requested: readonly string[]): DirectoryEntry {
  const classes = valuesOf(entry, 'objectClass').map((name) => name.toLowerCase())
  const attributes = requested.map((name) => {
    const values = valuesOf(entry, name)
    const isOwnName = values.length === 0 && name.toLowerCase() === 'distinguishedname'
    return { name, values: isOwnName ? [entry.dn] : values }
  })
  return {
    entityType: classes.includes(groupClassOf(server).toLowerCase()) ? 'group' : 'user',
    distinguishedName: entry.dn,
    attributes: attributes.filter(({ values }) => values.length > 0),
  }
}
