/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy: instances of policies, made from names, files and documents (resex-policies(7)).
 * Made in the control thread, before src/guests hands them to the sampler.
 */
#ifndef RESEX_CONF_POLICY_H
#define RESEX_CONF_POLICY_H

#include "policies/policies.h"
#include "src/conf/plugin.h"
#include "src/util/conf.h"

/*
 * ps: the plug-ins beside the built-in policies, whose names come first; NULL: there are none.
 *
 * Make an instance from a policy file ({"policy": NAME, "params": {...}}), or, when
 * file is NULL or "", of the policy called name with its defaults. With a file, name
 * is what it must say, or NULL. 0, or -errno with e filled; e->exit is RESEX_NO_POLICY
 * when no policy is called so.
 */
int policy_load(struct policy_inst **pi, struct plugins *ps, const char *name, const char *file,
		struct conf_error *e);
/*
 * The same from the text of a policy file; file: its name, for messages. The caller calls
 * policy_start(), when it has changed parameters.
 */
int policy_parse(struct policy_inst **pi, struct plugins *ps, const char *file, const char *text,
		 struct conf_error *e);
/*
 * As policy_load() from a value v at path of d: the name of a policy, or an object as in a policy
 * file. 0, or -errno with e filled.
 */
int policy_bind(struct policy_inst **pi, struct plugins *ps, const struct conf_doc *d,
		const char *path, const json_t *v, struct conf_error *e);
/*
 * 0, or -EINVAL with e filled: no policy is called name, the value at path of d, and the directory
 * has no plug-in of that name. A plug-in that is there is not loaded.
 */
int policy_check_name(const struct conf_doc *d, const char *path, const char *name,
		      const char *plugin_dir, struct conf_error *e);
/*
 * The policy called name. apart: it is a plug-in. 0 or -ENOENT with e filled, also for a plug-in
 * that is refused.
 */
int policy_search(struct plugins *ps, const char *name, const struct policy_ops **ops, bool *apart,
		  struct conf_error *e);
/*
 * An instance with the defaults of ops, its state zeroed. apart: in pages of its own. 0 or
 * -ENOMEM.
 */
int policy_new(struct policy_inst **pi, const struct policy_ops *ops, bool apart);
/*
 * All parameters are set: the policy may look at them, and a plug-in can change none from now on.
 * To be called once, before the sampler gets the instance. 0, or -EINVAL with e filled.
 */
int policy_start(struct policy_inst *pi, struct conf_error *e);
/*
 * Set one parameter, to a value as in a policy file: a number in the parameter's unit, or one with
 * a unit, such as "10ms", "5%" or "64KiB". 0; -ENOENT: no such parameter; -ERANGE: not in its
 * range, -EINVAL: no value of its type: want is a sentence with what it takes.
 */
int policy_param_set(struct policy_inst *pi, const char *name, const json_t *v, char *want,
		     size_t size);
/* As a key of a file, whose offset is in pi->params. */
struct conf_key policy_param_key(const struct policy_param *p);
uint64_t policy_param_get(const struct policy_inst *pi, const struct policy_param *p);
void policy_free(struct policy_inst *pi); /* NULL is fine */

#endif
