/** Directory services: the LDAP servers that sign users in. Source: behaviour iam.md 4. */
import { isIP } from 'node:net'
import { DirectoryService, directoryServiceOperations } from '@hyperplane/contract/iam/directory-service'
import { AddressRefusal } from '../../core/access/address-guard.ts'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { created, replaced } from '../../core/updates.ts'
import { accountAttribute, DirectoryError, type DirectoryServer, secretAttributes } from '../../drivers/directory.ts'
import { isSimulatedHost } from '../../drivers/web.ts'
import type { Transaction } from '../../store/store.ts'
import { implement, type ReadContext } from '../context.ts'
import { authorship } from './authorship.ts'
import { normalForm } from './directory/distinguished-name.ts'
import {
  type DirectoryRow,
  ifItAnswers,
  queryDirectory,
  serverOf,
  serverWith,
  storedPassword,
  unusable,
} from './directory/server.ts'
import { requireUnused } from './providers.ts'

interface Judged {
  readonly refusals: readonly ApiError[]
  readonly cause?: string
}

const maximumFindings = 100

export const directoryService = implement(
  directoryServiceOperations,
  {
    async createDirectoryService(ctx, { body, prepared }) {
      const { refusals, cause } = prepared as Judged
      refuseAll(refusals)
      await refuseDuplicate(ctx.store, body.name)
      if (cause !== undefined) ctx.warn(unanswered(body.url, cause))
      const directory = created(ctx, DirectoryService, body, authorship(ctx))
      // A running sign-in did not query this directory: later requests must not share its result.
      ctx.afterCommit(() => ctx.services.authenticator.forgetProvider(directory.extId))
      return ctx.store.insert(DirectoryService, directory)
    },

    async updateDirectoryServiceById(ctx, { body, prepared }) {
      const { target } = ctx
      const { refusals, cause } = prepared as Judged
      refuseAll(refusals)
      await refuseDuplicate(ctx.store, body.name, target.extId)
      if (cause !== undefined) ctx.warn(unanswered(body.url, cause))
      const directory = replaced(DirectoryService, target, body, ctx.version)
      ctx.afterCommit(() => ctx.services.authenticator.forgetProvider(target.extId))
      return ctx.store.replace(DirectoryService, {
        ...directory,
        serviceAccount: directory.serviceAccount ?? target.serviceAccount,
        lastUpdatedTime: ctx.clock.iso(),
      })
    },

    async deleteDirectoryServiceById(ctx) {
      const target = ctx.target
      await requireUnused(ctx.store, DirectoryService, target)
      await ctx.store.remove(DirectoryService, target.extId)
      ctx.afterCommit(() => ctx.services.authenticator.forgetProvider(target.extId))
      return undefined
    },

    async searchDirectoryService(ctx, { body }) {
      const server = serverOf(ctx.secrets, ctx.target)
      const searchedAttributes = body.searchedAttributes ?? ['cn']
      const returnedAttributes = body.returnedAttributes ?? [
        'cn',
        accountAttribute(server),
        'mail',
        'distinguishedName',
      ]
      const query = {
        text: body.query,
        isWildcard: body.isWildcardSearch === true,
        searchedAttributes,
        returnedAttributes,
        limit: maximumFindings,
      }
      const { entries, isTruncated } = await queryDirectory(server, () => ctx.drivers.directory.search(server, query))
      const searchResults = entries.map(({ entityType, distinguishedName, attributes }) => ({
        entityType,
        name: distinguishedName,
        attributes: attributes.map(({ name, values }) => ({ name, values: [...values] })),
      }))
      const result = { domainName: ctx.target.domainName as string, searchResults }
      return isTruncated ? { ...result, truncated: true } : result
    },

    async connectionStatusDirectoryService(ctx, { body }) {
      const server = serverOf(ctx.secrets, ctx.target)
      await queryDirectory(server, () => ctx.drivers.directory.bind(server, body))
      return { message: `The connection to the directory "${ctx.target.name}" is successful.` }
    },
  },
  {
    rules: {
      createDirectoryService: ({ body }) => [...accountFaults(body), ...faultsOf(body)],
      updateDirectoryServiceById: ({ body }) => faultsOf(body),
      searchDirectoryService: ({ body }) => [
        ...secretsIn('searchedAttributes', body.searchedAttributes ?? []),
        ...secretsIn('returnedAttributes', body.returnedAttributes ?? []),
      ],
    },
    prepare: {
      createDirectoryService: async (ctx, { body }) => judged(ctx, body, body.serviceAccount?.password ?? ''),
      async updateDirectoryServiceById(ctx, { path, body }) {
        const stored = await ctx.store.get(DirectoryService, path.extId)
        if (stored === undefined) return { refusals: [] }
        const settled = {
          ...body,
          serviceAccount: body.serviceAccount ?? stored.serviceAccount,
          directoryType: stored.directoryType,
          domainName: stored.domainName,
        }
        return judged(ctx, settled, body.serviceAccount?.password ?? storedPassword(ctx.secrets, stored))
      },
    },
  },
)

type Body = Omit<DirectoryRow, 'extId'>

async function judged(ctx: ReadContext, body: Body, password: string): Promise<Judged> {
  if (password === '') return { refusals: [] }
  const refusals = await faultsOfAddresses(ctx, body)
  if (refusals.length > 0) return { refusals }
  const server = serverWith(body, password)
  const bound = await ifItAnswers(ctx.drivers.directory, (directory) => tried(directory, server))
  if ('cause' in bound) return { refusals: [], cause: bound.cause }
  return { refusals: bound.answer === undefined ? [] : [bound.answer] }
}

/** A refused service account is a value: `ifItAnswers` would treat an error as an outage. */
async function tried(
  directory: ReadContext['drivers']['directory'],
  server: DirectoryServer,
): Promise<ApiError | undefined> {
  try {
    await directory.bind(server, server.account)
    return undefined
  } catch (error) {
    if (!(error instanceof DirectoryError) || error.fault !== 'credentials') throw error
    return unusable(server, error)
  }
}

const unanswered = (url: string, cause: string): string =>
  `The directory at ${url} does not answer now (${cause}). It is kept as it was given.`

async function refuseDuplicate(store: Transaction, name: string, own?: string): Promise<void> {
  const same = (row: DirectoryRow): boolean => row.extId !== own && row.name.toLowerCase() === name.toLowerCase()
  if ((await store.find(DirectoryService)).some(same)) throw new ApiError('DIRECTORY_SERVICE_ALREADY_EXISTS', { name })
}

const accountFaults = ({ serviceAccount }: Body): ApiError[] => {
  if (serviceAccount === undefined) return [invalid('serviceAccount', 'is required.')]
  return serviceAccount.password === undefined ? [invalid('serviceAccount/password', 'is required.')] : []
}

function faultsOf(body: Body): ApiError[] {
  const faults: ApiError[] = urlsOf(body).flatMap(({ path, url }) =>
    ldapHost(url) === undefined
      ? [invalid(path, 'expected ldap://host or ldaps://host, with a port at most; no path, no user.')]
      : [],
  )
  const layout = body.openLdapConfiguration
  if (body.directoryType === 'OPEN_LDAP' && layout === undefined)
    faults.push(invalid('openLdapConfiguration', 'is required for a directory of type OPEN_LDAP.'))
  if (body.directoryType === 'ACTIVE_DIRECTORY' && layout !== undefined)
    faults.push(invalid('openLdapConfiguration', 'an ACTIVE_DIRECTORY has none; leave the field out.'))
  const names = new Map([
    ['openLdapConfiguration/userConfiguration/userSearchBase', layout?.userConfiguration.userSearchBase],
    ['openLdapConfiguration/userGroupConfiguration/groupSearchBase', layout?.userGroupConfiguration.groupSearchBase],
    ...(body.whiteListedGroups ?? []).map((group, index) => [`whiteListedGroups[${index}]`, group] as const),
  ])
  for (const [path, name] of names) {
    const isPlainName = path.startsWith('whiteListedGroups') && name?.includes('=') === false
    if (name !== undefined && !isPlainName && normalForm(name) === undefined)
      faults.push(invalid(path, 'expected a distinguished name, such as cn=admins,dc=example,dc=com.'))
  }
  return faults
}

const urlsOf = ({ url, secondaryUrls = [] }: Body) => [
  { path: 'url', url },
  ...secondaryUrls.map((other, index) => ({ path: `secondaryUrls[${index}]`, url: other })),
]

/** A host name that cannot be resolved yet is accepted. */
async function faultsOfAddresses(ctx: ReadContext, body: Body): Promise<ApiError[]> {
  const faults = await Promise.all(
    urlsOf(body).map(async ({ path, url }) => {
      const host = ldapHost(url) ?? ''
      if (isSimulatedHost(host)) return []
      try {
        await ctx.services.addressGuard.addressesOf(host)
      } catch (error) {
        if (error instanceof AddressRefusal) return [invalid(path, `${error.message}.`)]
      }
      return []
    }),
  )
  return faults.flat()
}

function ldapHost(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // `href` is longer if the URL has a path, a query or user information.
  if (url === undefined || !/^ldaps?:$/.test(url.protocol) || url.href !== `${url.protocol}//${url.host}`)
    return undefined
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isName = /^[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*\.?$/i.test(host)
  return isIP(host) !== 0 || isName ? host : undefined
}

const secretsIn = (path: string, names: readonly string[]): ApiError[] =>
  names.flatMap((name, index) =>
    secretAttributes.has(name.toLowerCase()) ? [invalid(`${path}[${index}]`, `${name} is never shown.`)] : [],
  )
