/**
 * Simulated directories: one for each host name that ends in `.simulated`. The facts, by collection: `directory.settings`
 * the password of people who are made up, `directory.hosts` how a server behaves, `directory.users` (`<host>/<name>`) and
 * `directory.groups` (`<host>/<distinguished name>`) who is there, keys in lower case. Source: behaviour iam.md 11.
 */

import { verifyPassword } from '../../core/access/passwords.ts'
import { drawsFrom } from '../../core/ids/draws.ts'
import {
  accountAttribute,
  baseOf,
  type Directory,
  type DirectoryEntry,
  DirectoryError,
  type DirectoryQuery,
  type DirectoryServer,
  type DirectoryUser,
  maximumLevels,
  secretAttributes,
  tryMilliseconds,
} from '../directory.ts'
import { digestOf } from './place-doors.ts'
import type { SimulatedWorld } from './world.ts'

/** The world's own, under `world`. */
export interface DirectorySettings {
  /** Hash of the password of everybody who has none of their own. */
  readonly passwordHash: string
}

/** A server, by host name; one without a fact answers and makes people up. */
export interface DirectoryHost {
  /** `any`: an unknown well-formed name is somebody. `listed`: it is nobody. */
  readonly resolve?: 'any' | 'listed'
  readonly fault?: 'down' | 'slow' | 'tls' | 'wrongBind'
}

export interface SimulatedUser {
  readonly name: string
  readonly distinguishedName: string
  readonly displayName?: string
  readonly emailId?: string
  readonly isDisabled?: boolean
  /** SHA-256 in hex; absent: the world's. */
  readonly password?: string
}

export interface SimulatedGroup {
  readonly distinguishedName: string
  /** Distinguished names of users and groups. */
  readonly members: readonly string[]
}

export const directoryKey = (host: string, name: string): string => `${host}/${name}`.toLowerCase()

const bindMilliseconds = [5, 30] as const
const searchMilliseconds = [10, 80] as const
const wellFormed = /^[\p{L}\p{N}][\p{L}\p{N}._ -]{0,63}$/u

export function createSimulatedDirectory(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): Directory {
  const worldSettings = world.collection<DirectorySettings>('directory.settings')
  const hosts = world.collection<DirectoryHost>('directory.hosts')
  const users = world.collection<SimulatedUser>('directory.users')
  const groups = world.collection<SimulatedGroup>('directory.groups')

  const hostOf = ({ urls }: DirectoryServer): string => new URL(urls[0] as string).hostname.toLowerCase()
  const at = <T>(all: ReadonlyMap<string, T>, host: string): T[] =>
    [...all].flatMap(([key, fact]) => (key.startsWith(`${host}/`) ? [fact] : []))

  /** The server answers, or does not. */
  async function reach(server: DirectoryServer, [least, most]: readonly [number, number]): Promise<string> {
    const host = hostOf(server)
    const fault = hosts.get(host)?.fault
    const hangs = fault === 'down' || fault === 'slow'
    if (settings.durations === 'natural') {
      const draw = drawsFrom(`directory/${host}/${world.clock.now()}`)()
      await world.clock.sleep(hangs ? tryMilliseconds : least + (most - least) * draw)
    }
    if (hangs) throw new DirectoryError('timeout', `time-out: no answer within ${tryMilliseconds / 1000} s`)
    if (fault === 'tls') throw new DirectoryError('tls', 'TLS: unable to verify the first certificate')
    return host
  }

  async function signIn(server: DirectoryServer, { username, password }: DirectoryServer['account']): Promise<void> {
    const host = await reach(server, bindMilliseconds)
    const user = knownAs(host, server, username)
    const hash = worldSettings.get('world')?.passwordHash
    const isRight =
      user === undefined || password === '' || hosts.get(host)?.fault === 'wrongBind'
        ? false
        : user.password === undefined
          ? hash !== undefined && (await verifyPassword(password, hash))
          : digestOf(password) === user.password
    if (!isRight || user?.isDisabled === true) throw new DirectoryError('credentials', 'invalid credentials')
  }

  /** By distinguished name, account name, `name@domain` or `DOMAIN\name`. */
  function knownAs(host: string, server: DirectoryServer, username: string): SimulatedUser | undefined {
    const listed = at(users.all(), host).find((user) => isSame(user.distinguishedName, username))
    if (listed !== undefined) return listed
    const inName = /^[a-z]+=([^,]+),/i.exec(username)?.[1]
    return userCalled(host, server, inName ?? username.replace(/^.*\\/, '').replace(/@.*$/, ''))
  }

  function userCalled(host: string, server: DirectoryServer, name: string): SimulatedUser | undefined {
    const listed = users.get(directoryKey(host, name))
    if (listed !== undefined) return listed
    if (hosts.get(host)?.resolve === 'listed' || !wellFormed.test(name)) return undefined
    const { layout, domainName } = server
    const rdn = layout === undefined ? `cn=${name}` : `${layout.usernameAttribute}=${name}`
    const distinguishedName = `${rdn},${layout?.userSearchBase ?? `cn=users,${baseOf(domainName)}`}`
    return { name, distinguishedName, displayName: name, emailId: `${name.replaceAll(' ', '.')}@${domainName}` }
  }

  return {
    bind: signIn,

    async findUser(server, name) {
      await signIn(server, server.account)
      const user = userCalled(await reach(server, searchMilliseconds), server, name)
      return user === undefined ? undefined : found(user)
    },

    async groupsOf(server, user, recursive) {
      await signIn(server, server.account)
      const all = at(groups.all(), await reach(server, searchMilliseconds))
      const seen = new Map<string, string>()
      let level = [user.distinguishedName]
      for (let depth = 0; level.length > 0 && depth < (recursive ? maximumLevels : 1); depth++) {
        const members = new Set(level.map((name) => name.toLowerCase()))
        level = all
          .filter((group) => group.members.some((member) => members.has(member.toLowerCase())))
          .map((group) => group.distinguishedName)
          .filter((name) => !seen.has(name.toLowerCase()))
        for (const name of level) seen.set(name.toLowerCase(), name)
      }
      return [...seen.values()]
    },

    async hasGroup(server, distinguishedName) {
      await signIn(server, server.account)
      const host = await reach(server, searchMilliseconds)
      if (groups.get(directoryKey(host, distinguishedName)) !== undefined) return true
      return hosts.get(host)?.resolve !== 'listed'
    },

    async search(server, query) {
      await signIn(server, server.account)
      const host = await reach(server, searchMilliseconds)
      const listed = [
        ...at(users.all(), host).map((user) => entryOfUser(server, user)),
        ...at(groups.all(), host).map((group) => entryOfGroup(group)),
      ].filter((entry) => matches(entry, query))
      const made = query.isWildcard || listed.length > 0 ? undefined : userCalled(host, server, query.text)
      const entries = made === undefined ? listed : [entryOfUser(server, made)].filter((entry) => matches(entry, query))
      return {
        entries: entries.slice(0, query.limit).map((entry) => shown(entry, query.returnedAttributes)),
        isTruncated: entries.length > query.limit,
      }
    },
  }
}

const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

const found = (user: SimulatedUser): DirectoryUser => ({
  distinguishedName: user.distinguishedName,
  name: user.name,
  displayName: user.displayName ?? user.name,
  ...(user.emailId === undefined ? {} : { emailId: user.emailId }),
  isDisabled: user.isDisabled === true,
  memberOf: [],
  memberValue: user.distinguishedName,
})

const firstValue = (distinguishedName: string): string => /^[^=]+=([^,]+)/.exec(distinguishedName)?.[1] ?? ''

const entryOfUser = (server: DirectoryServer, user: SimulatedUser): DirectoryEntry =>
  entryOf('user', user.distinguishedName, {
    cn: user.displayName ?? user.name,
    [accountAttribute(server)]: user.name,
    displayName: user.displayName,
    mail: user.emailId,
  })

const entryOfGroup = ({ distinguishedName }: SimulatedGroup): DirectoryEntry =>
  entryOf('group', distinguishedName, { cn: firstValue(distinguishedName) })

function entryOf(
  entityType: DirectoryEntry['entityType'],
  distinguishedName: string,
  values: Readonly<Record<string, string | undefined>>,
): DirectoryEntry {
  const attributes = Object.entries({ ...values, distinguishedName }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, values: [value] }],
  )
  return { entityType, distinguishedName, attributes }
}

function matches({ attributes }: DirectoryEntry, { text, isWildcard, searchedAttributes }: DirectoryQuery): boolean {
  const asked = new Set(searchedAttributes.map((name) => name.toLowerCase()))
  return attributes
    .filter(({ name }) => asked.has(name.toLowerCase()))
    .flatMap(({ values }) => values)
    .some((value) => (isWildcard ? value.toLowerCase().includes(text.toLowerCase()) : isSame(value, text)))
}

function shown(entry: DirectoryEntry, names: readonly string[]): DirectoryEntry {
  const asked = names.map((name) => name.toLowerCase()).filter((name) => !secretAttributes.has(name))
  return { ...entry, attributes: entry.attributes.filter(({ name }) => asked.includes(name.toLowerCase())) }
}
