/**
 * Control of an account is a gift like a policy: a key, a password, a new account under a name that policies know, or a
 * change of its state needs that the caller holds everything that the account holds, also by groups that only its directory
 * knows. Source: behaviour iam.md 8.
 */
import type { EntityOf } from '@hyperplane/contract'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import type { User } from '@hyperplane/contract/iam/user'
import { UserGroup } from '@hyperplane/contract/iam/user-group'
import { ApiError } from '../../core/api-error.ts'
import type { ReadContext, WriteContext } from '../context.ts'
import { normalForm } from './directory/distinguished-name.ts'
import { userGroupIds } from './directory/memberships.ts'
import { ifItAnswers, serverOf } from './directory/server.ts'
import { bareName } from './directory/sign-in.ts'
import { denied, Giver, requireNothingLacks } from './escalation.ts'
import { mayMatchIdentity } from './filters/identity-filter.ts'
import { type Grant, grantsTo, userFacts } from './grants.ts'

/** A user, or one that is about to be created: its id is not known then before the transaction. */
export type Account = Pick<EntityOf<typeof User>, 'extId' | 'username' | 'userType' | 'idpId'> & {
  readonly isNew?: boolean
}

/** Whose entities SELF_OWNED means: a new account owns none, so there the caller's own right to such entities decides. */
const ownerOf = ({ caller }: ReadContext, { extId, isNew }: Account): string => (isNew === true ? caller.extId : extId)

/** Groups of an account in their normal form, or why its directory did not tell them. Undefined: no policy made it necessary to ask. */
export type GroupReport = { readonly groups: ReadonlySet<string> } | { readonly cause: string } | undefined

/** Asks the directory of the account for its groups, where the answer matters. For `prepare`: it may take as long as the driver waits. */
export async function reportedGroups(ctx: ReadContext, account: Account): Promise<GroupReport> {
  if (account.userType !== 'LDAP' || account.extId === ctx.caller.extId) return undefined
  const giver = await Giver.of(ctx)
  if (giver.lacksOf(await possibleGrants(ctx, giver, account), ownerOf(ctx, account)).length === 0) return undefined
  const row = await ctx.store.get(DirectoryService, account.idpId ?? '')
  if (row === undefined) return { groups: new Set() }
  const answered = await ifItAnswers(ctx.drivers.directory, async (directory) => {
    const server = serverOf(ctx.secrets, row)
    const found = await directory.findUser(server, bareName(row, account.username))
    return found === undefined ? [] : directory.groupsOf(server, found, row.groupSearchType === 'RECURSIVE')
  })
  if ('cause' in answered) return answered
  return { groups: new Set(answered.answer.flatMap((name) => normalForm(name) ?? [])) }
}

/**
 * @param report what `reportedGroups` answered before the transaction
 * @throws ApiError 403 when the account holds something that the caller does not; 409 when policies changed since the report
 */
export async function requireAccountCovered(ctx: WriteContext, account: Account, report: GroupReport): Promise<void> {
  if (account.extId === ctx.caller.extId) return
  const giver = await Giver.of(ctx)
  const facts = userFacts(account)
  const lacks = (grants: readonly Grant[]): readonly string[] => giver.lacksOf(grants, ownerOf(ctx, account))
  const to = ` on "${account.username}"`
  if (account.userType !== 'LDAP') return requireNothingLacks(ctx, lacks(grantsTo(giver.grants, facts)), to)
  // Where no group could make a difference, the directory was not asked.
  if (lacks(await possibleGrants(ctx, giver, account)).length === 0) return
  if (report === undefined)
    throw new ApiError('CONFLICT', { fault: 'Authorization policies changed at the same time. Retry.' })
  if ('cause' in report) {
    throw denied(ctx, `${to}: its directory does not answer (${report.cause}), so what its groups hold is not known`)
  }
  const groups = await userGroupIds(ctx.store, { extId: account.idpId ?? '' }, report)
  requireNothingLacks(ctx, lacks(grantsTo(giver.grants, { ...facts, groups: new Set(groups) })), to)
}

/** Everything that an account of a directory may hold, as long as nobody asked in which of its groups it is. */
async function possibleGrants({ store }: ReadContext, { grants }: Giver, account: Account): Promise<readonly Grant[]> {
  const ofDirectory = await store.findWhere(UserGroup, { idpId: account.idpId ?? '' })
  const groups = new Set(ofDirectory.map(({ extId }) => extId))
  const facts = userFacts(account)
  return grants.filter((grant) => grant.identities.some((filter) => mayMatchIdentity(filter, facts, groups)))
}
