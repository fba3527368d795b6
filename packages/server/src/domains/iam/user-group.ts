/** User groups: groups of directories and SAML providers that policies can name. Source: behaviour iam.md 3. */
import type { EntityOf } from '@hyperplane/contract'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { UserGroup, userGroupOperations } from '@hyperplane/contract/iam/user-group'
import { type ApiError, invalid } from '../../core/api-error.ts'
import { created } from '../../core/updates.ts'
import { implement, type ReadContext, type WriteContext } from '../context.ts'
import { authorship } from './authorship.ts'
import { firstValue, normalForm } from './directory/distinguished-name.ts'
import { ifItAnswers, serverOf } from './directory/server.ts'
import { Giver, refuseIfLacking } from './escalation.ts'
import { excludesGroup, type IdentityFilter, requiresGroup } from './filters/identity-filter.ts'
import { providerType, unknownProvider } from './providers.ts'

type GroupRow = EntityOf<typeof UserGroup>
type Body = Omit<GroupRow, 'extId'>

/** `answer`: the directory has the group; `cause`: why it did not answer. */
type Looked = { readonly answer: boolean } | { readonly cause: string } | undefined

export const userGroup = implement(
  userGroupOperations,
  {
    async createUserGroup(ctx, { body, prepared }) {
      const provider = await providerType(ctx.store, body.idpId)
      if (provider === undefined) throw unknownProvider(body.groupType, body.idpId)
      if (provider !== body.groupType)
        ctx.warn(
          `The provider ${body.idpId} is of type ${provider}: no user will belong to this ${body.groupType} group.`,
        )
      const looked = prepared as Looked
      if (looked !== undefined && 'cause' in looked)
        ctx.warn(`The directory does not answer now (${looked.cause}): whether it has the group is not known.`)
      else if (looked?.answer === false) throw invalid('distinguishedName', 'the directory has no group of this name.')
      const { distinguishedName } = body
      const group = created(ctx, UserGroup, body, {
        name: body.name ?? firstValue(distinguishedName ?? ''),
        identity: distinguishedName === undefined ? (body.name as string) : (normalForm(distinguishedName) as string),
        ...authorship(ctx),
      })
      await requireMembershipCovered(ctx, (filter) => requiresGroup(filter, isNameOf(group)))
      ctx.afterCommit(() => ctx.services.authenticator.forgetProvider(body.idpId))
      return ctx.store.insert(UserGroup, group)
    },

    async deleteUserGroupById(ctx) {
      const target = ctx.target
      await requireMembershipCovered(ctx, (filter) => excludesGroup(filter, target.extId))
      await ctx.store.remove(UserGroup, target.extId)
      ctx.afterCommit(() => ctx.services.authenticator.forgetProvider(target.idpId))
      return undefined
    },
  },
  {
    rules: { createUserGroup: ({ body }) => faultsOf(body) },
    prepare: {
      createUserGroup: (ctx, { body }) => groupInDirectory(ctx, body),
    },
  },
)

async function requireMembershipCovered(
  ctx: WriteContext,
  matches: (filter: IdentityFilter) => boolean,
): Promise<void> {
  const giver = await Giver.of(ctx)
  const gifts = giver.grants.filter((grant) => grant.identities.some(matches))
  refuseIfLacking(ctx, giver.lacksOf(gifts), ' on a group that policies speak of')
}

/** Policies use its id, name or distinguished name. */
function isNameOf({ extId, name, identity }: Required<Pick<GroupRow, 'extId' | 'name' | 'identity'>>) {
  const names = new Set([extId, name.toLowerCase(), identity.toLowerCase()])
  return (value: string): boolean => names.has(value) || normalForm(value) === identity
}

function faultsOf({ groupType, distinguishedName, name }: Body): ApiError[] {
  if (groupType === 'SAML') {
    return [
      ...(name === undefined ? [invalid('name', 'is required for a SAML group.')] : []),
      ...(distinguishedName === undefined
        ? []
        : [invalid('distinguishedName', 'a SAML group has none; leave the field out.')]),
    ]
  }
  if (distinguishedName === undefined) return [invalid('distinguishedName', 'is required for an LDAP group.')]
  return normalForm(distinguishedName) === undefined
    ? [invalid('distinguishedName', 'expected a distinguished name, such as cn=admins,dc=example,dc=com.')]
    : []
}

async function groupInDirectory(ctx: ReadContext, body: Body): Promise<Looked> {
  // `rules` refuses these bodies afterwards.
  if (body.groupType !== 'LDAP' || faultsOf(body).length > 0) return undefined
  const row = await ctx.store.get(DirectoryService, body.idpId)
  if (row === undefined) return undefined
  const name = body.distinguishedName as string
  return ifItAnswers(ctx.drivers.directory, (directory) => directory.hasGroup(serverOf(ctx.secrets, row), name))
}
