/**
 * Simulated directories at `*.simulated`, in lower case: `directory.settings`, `directory.hosts`, `directory.users` by `<host>/<name>`,
 * `directory.groups` by `<host>/<distinguished name>`. Source: behaviour iam.md 11.
 */

import { verifyPassword } from '../../core/access/passwords.ts'
import { drawnFrom } from '../../core/ids/draws.ts'
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
import type { Collection, SimulatedWorld } from './world.ts'

export interface DirectorySettings {
  /** Default for users without their own password. */
  readonly passwordHash: string
}

/** By host name; a server without a fact answers and invents users. */
export interface DirectoryHost {
  /** `any`: every well-formed name is a user. `listed`: only listed names are. */
  readonly resolve?: 'any' | 'listed'
  readonly fault?: 'down' | 'slow' | 'tls' | 'wrongBind'
}

export interface SimulatedUser {
  readonly name: string
  readonly distinguishedName: string
  readonly displayName?: string
  readonly emailId?: string
  readonly isDisabled?: boolean
  /** SHA-256 in hex; default: the password of the world. */
  readonly password?: string
}

export interface SimulatedGroup {
  readonly distinguishedName: string
  readonly members: readonly string[]
}

export const directoryKey = (host: string, name: string): string => `${host}/${name}`.toLowerCase()

const bindMilliseconds = [5, 30] as const
const searchMilliseconds = [10, 80] as const
const wellFormed = /^[\p{L}\p{N}][\p{L}\p{N}._ -]{0,63}$/u

class SimulatedServers {
  readonly hosts: Collection<DirectoryHost>
  readonly users: Collection<SimulatedUser>
  readonly #settings: Collection<DirectorySettings>
  readonly #world: SimulatedWorld
  readonly #isNatural: boolean

  constructor(world: SimulatedWorld, isNatural: boolean) {
    this.hosts = world.collection('directory.hosts')
    this.users = world.collection('directory.users')
    this.#settings = world.collection('directory.settings')
    this.#world = world
    this.#isNatural = isNatural
  }

  /** @returns the host name of the server @throws DirectoryError when it does not answer */
  async reach({ urls }: DirectoryServer, millis: readonly [number, number]): Promise<string> {
    const host = new URL(urls[0] as string).hostname.toLowerCase()
    const fault = this.hosts.get(host)?.fault
    const hangs = fault === 'down' || fault === 'slow'
    if (this.#isNatural) {
      const { clock } = this.#world
      await clock.sleep(hangs ? tryMilliseconds : drawnFrom(`directory/${host}/${clock.now()}`, millis))
    }
    if (hangs) throw new DirectoryError('timeout', `time-out: no answer within ${tryMilliseconds / 1000} s`)
    if (fault === 'tls') throw new DirectoryError('tls', 'TLS: unable to verify the first certificate')
    return host
  }

  async signIn(server: DirectoryServer, { username, password }: DirectoryServer['account']): Promise<void> {
    const host = await this.reach(server, bindMilliseconds)
    const user = this.#userOfLogin(host, server, username)
    const isRight =
      user !== undefined && this.hosts.get(host)?.fault !== 'wrongBind' && (await this.#isPasswordOf(user, password))
    if (!isRight || user.isDisabled === true) throw new DirectoryError('credentials', 'invalid credentials')
  }

  async #isPasswordOf(user: SimulatedUser, password: string): Promise<boolean> {
    if (password === '') return false
    if (user.password !== undefined) return digestOf(password) === user.password
    const hash = this.#settings.get('world')?.passwordHash
    return hash !== undefined && (await verifyPassword(password, hash))
  }

  /** By distinguished name, account name, `name@domain` or `DOMAIN\name`. */
  #userOfLogin(host: string, server: DirectoryServer, username: string): SimulatedUser | undefined {
    const listed = factsOf(this.users, host).find((user) => isSame(user.distinguishedName, username))
    if (listed !== undefined) return listed
    const inName = /^[a-z]+=([^,]+),/i.exec(username)?.[1]
    return this.userNamed(host, server, inName ?? username.replace(/^.*\\/, '').replace(/@.*$/, ''))
  }

  /** A listed user, or an invented one if the host resolves every well-formed name. */
  userNamed(host: string, server: DirectoryServer, name: string): SimulatedUser | undefined {
    const listed = this.users.get(directoryKey(host, name))
    if (listed !== undefined) return listed
    if (this.hosts.get(host)?.resolve === 'listed' || !wellFormed.test(name)) return undefined
    const { layout, domainName } = server
    const rdn = layout === undefined ? `cn=${name}` : `${layout.usernameAttribute}=${name}`
    const distinguishedName = `${rdn},${layout?.userSearchBase ?? `cn=users,${baseOf(domainName)}`}`
    return { name, distinguishedName, displayName: name, emailId: `${name.replaceAll(' ', '.')}@${domainName}` }
  }
}

const factsOf = <T>(facts: Collection<T>, host: string): T[] =>
  [...facts.all()].flatMap(([key, fact]) => (key.startsWith(`${host}/`) ? [fact] : []))

export function createSimulatedDirectory(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): Directory {
  const servers = new SimulatedServers(world, settings.durations === 'natural')
  const { hosts, users } = servers
  const groups = world.collection<SimulatedGroup>('directory.groups')

  return {
    bind: async (server, account) => servers.signIn(server, account),

    async findUser(server, name) {
      await servers.signIn(server, server.account)
      const user = servers.userNamed(await servers.reach(server, searchMilliseconds), server, name)
      return user === undefined ? undefined : userOf(user)
    },

    async groupsOf(server, user, recursive) {
      await servers.signIn(server, server.account)
      const all = factsOf(groups, await servers.reach(server, searchMilliseconds))
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
      await servers.signIn(server, server.account)
      const host = await servers.reach(server, searchMilliseconds)
      if (groups.get(directoryKey(host, distinguishedName)) !== undefined) return true
      return hosts.get(host)?.resolve !== 'listed'
    },

    async search(server, query) {
      await servers.signIn(server, server.account)
      const host = await servers.reach(server, searchMilliseconds)
      const listed = [
        ...factsOf(users, host).map((user) => entryOfUser(server, user)),
        ...factsOf(groups, host).map((group) => entryOfGroup(group)),
      ].filter((entry) => matches(entry, query))
      const invented = query.isWildcard || listed.length > 0 ? undefined : servers.userNamed(host, server, query.text)
      const entries =
        invented === undefined ? listed : [entryOfUser(server, invented)].filter((entry) => matches(entry, query))
      return {
        entries: entries.slice(0, query.limit).map((entry) => withAttributes(entry, query.returnedAttributes)),
        isTruncated: entries.length > query.limit,
      }
    },
  }
}

const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

const userOf = (user: SimulatedUser): DirectoryUser => ({
  distinguishedName: user.distinguishedName,
  name: user.name,
  displayName: user.displayName ?? user.name,
  emailId: user.emailId,
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
  const requested = new Set(searchedAttributes.map((name) => name.toLowerCase()))
  return attributes
    .filter(({ name }) => requested.has(name.toLowerCase()))
    .flatMap(({ values }) => values)
    .some((value) => (isWildcard ? value.toLowerCase().includes(text.toLowerCase()) : isSame(value, text)))
}

function withAttributes(entry: DirectoryEntry, names: readonly string[]): DirectoryEntry {
  const requested = names.map((name) => name.toLowerCase()).filter((name) => !secretAttributes.has(name))
  return { ...entry, attributes: entry.attributes.filter(({ name }) => requested.includes(name.toLowerCase())) }
}
